import Foundation
import StrictJSON
import Support
import Testing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The clients of the guide for backends, against a running daemon.
/// One after the other: a request that is cancelled disturbs others of the shared session.
@Suite(.serialized) struct GuideTests {
  private static let subscriber = "0a0b0c0d-0000-4000-8000-00000000000a"
  private static let former = "0a0b0c0d-0000-4000-8000-00000000000b"
  private static let ended = "0a0b0c0d-0000-4000-8000-00000000000c"
  private static let nobody = "0a0b0c0d-0000-4000-8000-00000000000d"
  private func guide() throws -> String {
    try DocumentationPage("Sources/subledger/subledger.docc/operating/backends.md").text
  }

  /// The code of a language in the guide.
  private func code(_ language: String) throws -> String {
    let parts = try guide().components(separatedBy: "```\(language)\n")
    return try #require(parts.dropFirst().first?.components(separatedBy: "```").first)
  }

  private struct Served {
    let installation: Installation
    let daemon: RunningDaemon
    var base: String { "http://127.0.0.1:\(daemon.port)" }
  }

  private func served() throws -> Served {
    let installation = try Installation()
    try installation.configure(with: [
      ("entitlements", .object([("pro", .array([.string("pro.*")]))]))
    ])
    let daemon = try installation.start()
    let tomorrow = JSONValue.integer(Int64(Date().timeIntervalSince1970 + 86_400) * 1000)
    for (number, user) in zip(1..., [Self.subscriber, Self.former, Self.ended]) {
      var body = Sample.notification(number, otid: "700\(number)")
        .setting("data.transaction.appAccountToken", .string(user))
      if user != Self.former {
        body = body.setting("data.transaction.expiresDate", tomorrow)
          .setting("data.renewalInfo.renewalDate", tomorrow)
      }
      #expect(daemon.client().post(try installation.sign(body))?.status == 200)
    }
    return Served(installation: installation, daemon: daemon)
  }

  /// What every client must answer: first asked, then with a daemon that is away when the time of
  /// `next` has come for the third user, and for a mistake and a user without an earlier answer an
  /// error.
  private static let expected = [
    "true", "false", "true", "none", "true", "false", "false", "none", "error", "error",
  ]

  private func run(_ program: String, _ file: String, _ code: String) throws -> [String] {
    let served = try served()
    let folder = served.installation.folder
    try Data(code.utf8).write(to: folder.appending(path: file))
    let users = [Self.subscriber, Self.former, Self.ended, Self.nobody].joined(separator: ",")
    let command = try RunningCommand(
      [program, file, served.base, Installation.token, users], in: folder,
      program: URL(filePath: "/usr/bin/env"))
    let finished = try command.finish()
    #expect(finished.code == 0, "\(finished)")
    try served.daemon.stop()
    return finished.output.split(separator: "\n").map(String.init)
  }

  private static func isInstalled(_ program: String) -> Bool {
    ["/usr/bin", "/bin"].contains {
      FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
    }
  }

  @Test(.enabled(if: isInstalled("python3")))
  func `the Python client answers, remembers, and does not guess`() throws {
    let driver = """

      import sys
      base, token, users = sys.argv[1:]
      def show(client, user, name="pro"):
          try:
              print({True: "true", False: "false", None: "none"}[client.has(user, name)])
          except OSError:
              print("error")
      client = Entitlements(base, token, seconds=0)
      for user in users.split(","): show(client, user)
      client.last[users.split(",")[2]][1]["entitlements"]["pro"]["next"]["at"] = 1
      client.base = "http://127.0.0.1:1"
      for user in users.split(","): show(client, user)
      show(client, "0a0b0c0d-0000-4000-8000-00000000000e")
      client.base = base
      show(client, "42")
      """
    #expect(
      try run(
        "python3", "client.py", try code("python").replacing("=0.3", with: "=30") + driver)
        == Self.expected)
  }

  @Test(.enabled(if: isInstalled("node")))
  func `the JavaScript client answers, remembers, and does not guess`() throws {
    let driver = """

      const [base, token, users] = process.argv.slice(2);
      const client = new Entitlements(base, token, 0);
      const show = async (user) => {
        try { console.log(String(await client.has(user, "pro") ?? "none")); }
        catch (error) { console.log("error"); }
      };
      const [ask, answers] = [client.ask.bind(client), {}];
      client.ask = async (user) => answers[user] = await ask(user);
      for (const user of users.split(",")) await show(user);
      answers[users.split(",")[2]].entitlements.pro.next.at = 1;
      client.base = "http://127.0.0.1:1";
      for (const user of users.split(",")) await show(user);
      await show("0a0b0c0d-0000-4000-8000-00000000000e");
      client.base = base;
      await show("42");
      """
    let code = try code("javascript").replacing("timeout(300)", with: "timeout(30000)") + driver
    #expect(try run("node", "client.mjs", code) == Self.expected)
  }

  /// The code of the guide is that of `BackendClient.swift`, which is built with the tests.
  @Test func `the Swift client answers, remembers, and does not guess`() async throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "BackendClient.swift")
    let built = try String(contentsOf: file, encoding: .utf8)
    #expect(built.hasSuffix(try code("swift")))
    let served = try served()
    let client = Entitlements(
      base: try #require(URL(string: served.base)), token: Installation.token, seconds: 0)
    await client.wait(30)
    var shown: [String] = []
    func show(_ user: String) async {
      do {
        shown.append(try await client.has(user, "pro").map(String.init) ?? "none")
      } catch {
        shown.append("error")
      }
    }
    let users = [Self.subscriber, Self.former, Self.ended, Self.nobody]
    for user in users { await show(user) }
    await client.end(Self.ended)
    await client.move(to: try #require(URL(string: "http://127.0.0.1:1")))
    for user in users { await show(user) }
    await show("0a0b0c0d-0000-4000-8000-00000000000e")
    await client.move(to: try #require(URL(string: served.base)))
    await show("42")
    #expect(shown == Self.expected)
    try served.daemon.stop()
  }

  /// Away is not only refused connections: this daemon takes the request and says nothing.
  @Test(.timeLimit(.minutes(2)))
  func `each client gives up after 300 ms and answers from the last answer`() async throws {
    let answer = """
      {"known":true,"entitlements":{"pro":{"active":true,"next":null}}}
      """
    let server = try ScriptedServer { request in
      // Only the first request of each connection of a client that was not asked before.
      request.target.hasSuffix("first") ? [.response(200, answer)] : [.pause(milliseconds: 5_000)]
    }
    let folder = try Installation()
    let python = """

      import sys, time
      client = Entitlements(sys.argv[1], "t", seconds=0)
      print(client.has("first", "pro"))
      client.last["silent"] = client.last["first"]
      start = time.time()
      print(client.has("silent", "pro"), time.time() - start < 20)
      """
    if Self.isInstalled("python3") {
      try Data((try code("python") + python).utf8)
        .write(to: folder.folder.appending(path: "silent.py"))
      let shown = try RunningCommand(
        ["python3", "silent.py", server.address], in: folder.folder,
        program: URL(filePath: "/usr/bin/env")
      ).finish()
      #expect(shown.output == "True\nTrue True\n", "\(shown)")
    }
    let client = Entitlements(
      base: try #require(URL(string: server.address)), token: "t", seconds: 0)
    #expect(try await client.has("first", "pro") == true)
    await client.copy("first", to: "silent")
    let start = Date()
    #expect(try await client.has("silent", "pro") == true)
    #expect(Date().timeIntervalSince(start) < 4 * RunningCommand.waitFactor)
  }

  @Test(arguments: ["python", "javascript", "swift"])
  func `each client of the guide has at most 35 lines`(_ language: String) throws {
    #expect(try code(language).split(separator: "\n").count <= 35)
  }
}

extension Entitlements {
  /// A busy machine may need longer than a backend waits.
  func wait(_ seconds: Double) { timeout = seconds }

  func copy(_ user: String, to other: String) { last[other] = last[user] }

  func move(to base: URL) { self.base = base }

  /// Makes the time of `next` a past one in the last answer for a user.
  func end(_ user: String) {
    let change = Customer.Change(at: 1, active: false)
    let ended = Customer.Entitlement(active: true, next: change)
    last[user]?.customer = Customer(known: true, entitlements: ["pro": ended])
  }
}
