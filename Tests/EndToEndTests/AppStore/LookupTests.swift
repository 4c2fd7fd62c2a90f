import AppStoreSimulator
import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// `lookup`, against a server that answers as Apple does.
@Suite struct LookupTests {
  private typealias Request = ScriptedServer.Request
  private typealias Step = ScriptedServer.Step

  /// An installation whose journal has the customer 7000 of Production, and a key for its server.
  private final class Setting {
    let installation: Installation
    let server: ScriptedServer
    let secret: String

    init(
      apps: [JSONValue] = [Installation.app()], authority: SimulatedAuthority? = nil,
      _ answer: @escaping @Sendable (Request) -> Step
    ) throws {
      installation = try Installation(authority: authority)
      server = try ScriptedServer { [answer($0)] }
      let pem = try SigningKey.generate(.p256).pem()
      secret = String(decoding: pem, as: UTF8.self).split(separator: "\n")[1].description
      let key = installation.folder.appending(path: "key.p8")
      try Data(pem).write(to: key)
      chmod(key.path, 0o600)
      let access = JSONValue.object([
        ("issuerId", .string("issuer")), ("keyId", .string("KEY")),
        ("keyFile", .string("key.p8")), ("production", .string(server.address + "/production")),
        ("sandbox", .string(server.address + "/sandbox")),
      ])
      let line = try installation.sign(Sample.notification(1))
      try installation.configure(apps: apps, with: [("appStore", access)])
      let ingested = try installation.run("ingest", try installation.file("one", [line]))
      guard ingested.code == 0 else { throw TestFailure("\(ingested)") }
    }

    /// Runs `lookup`. Key and token must be nowhere in what it prints.
    func run(_ arguments: String...) throws -> CommandResult {
      let finished = try installation.launch(
        ["lookup", "--config", installation.config.path] + arguments
      ).finish()
      let printed = finished.output + finished.errors
      #expect(!printed.contains(secret))
      for request in server.requests {
        let token = try #require(request.field("Authorization")?.dropFirst(7))
        #expect(token.split(separator: ".").count == 3 && !printed.contains(token.suffix(40)))
      }
      return finished
    }

    var targets: [String] { server.requests.map(\.target) }
  }

  /// A signed transaction as Apple returns it.
  private static func transaction(
    _ number: Int, otid: String = "7000", environment: String = "Production",
    bundleId: String = "com.example.app", by authority: SimulatedAuthority
  ) throws -> String {
    let notification = Sample.notification(
      number, otid: otid, bundleId: bundleId, environment: environment)
    let payload = try #require(notification["data"]?["transaction"])
    return String(decoding: try authority.sign(payload: payload.bytes), as: UTF8.self)
  }

  private static func error(_ code: Int) -> Step {
    .response(code / 10_000, #"{"errorCode":\#(code),"errorMessage":"m"}"#)
  }

  private static func list(_ texts: [String]) -> String {
    "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]"
  }

  @Test func `an order leads to its customers, and to what the journal has`() throws {
    let authority = try SimulatedAuthority.make()
    let texts = try [
      Self.transaction(1, by: authority), Self.transaction(2, by: authority),
      Self.transaction(3, otid: "8000", by: authority),
    ]
    let setting = try Setting(authority: authority) { _ in
      .response(200, #"{"status":0,"signedTransactions":\#(Self.list(texts))}"#)
    }
    let text = try setting.run("MX123abc")
    #expect(text.code == 1, "8000 is not journaled: \(text)")
    #expect(text.output.contains("7000  Production  com.example.app"), "\(text)")
    #expect(text.output.contains("Apple has 2 transactions of pro.monthly"), "\(text)")
    #expect(text.output.contains("8000") && text.output.contains("not in this journal"))
    #expect(setting.targets == ["/production/inApps/v1/lookup/MX123ABC"])
    let lines = try setting.run(" mx123 abc", "--json").lines()
    #expect(lines.map { $0["original_transaction_id"]?.string } == ["7000", "8000"])
    #expect(lines.map { $0["journaled"]?.boolean } == [true, false])
    #expect(lines[0]["kind"]?.string == "order" && lines[0]["id"]?.string == "MX123ABC")
    #expect(lines[0]["transactions"]?.integer == 2 && lines[1]["history"]?.kind == .null)
    // The printed command works as it is.
    let command = try #require(lines[0]["history"]?.string)
    #expect(command.hasPrefix("subledger history 7000 --config "))
    let arguments = command.split(separator: " ").dropFirst().map(String.init)
    #expect(try setting.installation.launch(arguments).finish().code == 0)
  }

  @Test func `a transaction id that the journal knows is answered without asking`() throws {
    let setting = try Setting { _ in Self.error(4_040_010) }
    let known = try #require(
      try setting.installation.run("history", "7000", "--json").lines()
        .compactMap { $0["transaction_id"]?.string }.first)
    for id in [known, "7000"] {
      let found = try setting.run(id)
      #expect(found.code == 0 && found.output.contains("subledger history 7000"), "\(found)")
    }
    #expect(setting.targets.isEmpty)
    let unknown = try setting.run("MX123")
    #expect(unknown.errors.contains("asked about com.example.app in Production"), "\(unknown)")
  }

  @Test func `a transaction id is asked for in Production first, then in the Sandbox`() throws {
    let authority = try SimulatedAuthority.make()
    let found = try Self.transaction(5, otid: "9000", environment: "Sandbox", by: authority)
    let setting = try Setting(authority: authority) { request in
      request.target.hasPrefix("/production")
        ? Self.error(4_040_010) : .response(200, #"{"signedTransactionInfo":"\#(found)"}"#)
    }
    let finished = try setting.run("90005", "--json")
    #expect(finished.code == 1, "\(finished)")
    #expect(try finished.lines().first?["environment"]?.string == "Sandbox")
    #expect(
      setting.targets == [
        "/production/inApps/v1/transactions/90005", "/sandbox/inApps/v1/transactions/90005",
      ])
    _ = try setting.run("90005", "--environment", "Sandbox")
    #expect(setting.targets.count == 3)
  }

  @Test func `an app transaction id leads to all transactions of its customer`() throws {
    let authority = try SimulatedAuthority.make()
    let pages = try [[1, 2], [3]].map { numbers in
      Self.list(try numbers.map { try Self.transaction($0, by: authority) })
    }
    let setting = try Setting(authority: authority) { request in
      guard request.target.contains("/v2/history/") else { return Self.error(4_000_048) }
      let isLast = request.target.hasSuffix("?revision=r1")
      return .response(
        200,
        #"{"revision":"\#(isLast ? "r2" : "r1")","hasMore":\#(!isLast),"#
          + #""signedTransactions":"#
          + pages[isLast ? 1 : 0] + #","environment":"Production","bundleId":"com.example.app"}"#)
    }
    let finished = try setting.run("704000000000000001")
    #expect(finished.code == 0, "\(finished)")
    #expect(finished.output.contains("Apple has 3 transactions"), "\(finished)")
    #expect(finished.output.contains("subledger history 7000"), "\(finished)")
  }

  @Test func `an id that Apple does not know exits with 1`() throws {
    let setting = try Setting { _ in Self.error(4_040_010) }
    let finished = try setting.run("123")
    #expect(finished.code == 1 && finished.errors.contains("does not know"), "\(finished)")
    let order = try Setting { _ in .response(200, #"{"status":1}"#) }
    #expect(try order.run("MX1").code == 1)
  }

  @Test func `what Apple did not sign, or signed for another, is no answer`() throws {
    let authority = try SimulatedAuthority.make()
    let foreign = try SimulatedAuthority.make()
    for text in [
      try Self.transaction(1, by: foreign),
      try Self.transaction(1, environment: "Sandbox", by: authority),
      try Self.transaction(1, bundleId: "com.example.other", by: authority), "canary.b.c", "",
    ] {
      let setting = try Setting(authority: authority) { _ in
        .response(200, #"{"signedTransactionInfo":"\#(text)"}"#)
      }
      let finished = try setting.run("123")
      #expect(finished.code == 1 && finished.output.isEmpty, "\(finished)")
      #expect(!finished.errors.contains("canary"), "\(finished)")
    }
  }

  @Test func `a refused key exits with 3 and names the usual causes`() throws {
    let setting = try Setting { _ in .response(401, "Unauthenticated", type: "text/plain") }
    let finished = try setting.run("123")
    #expect(finished.code == 3, "\(finished)")
    #expect(finished.errors.contains("In-App Purchase key"), "\(finished)")
    #expect(setting.server.requests.count == 4, "each environment twice")
  }

  @Test func `an app that was never released is found in the Sandbox`() throws {
    let authority = try SimulatedAuthority.make()
    let found = try Self.transaction(5, environment: "Sandbox", by: authority)
    let setting = try Setting(authority: authority) { request in
      request.target.hasPrefix("/production")
        ? .response(401, "") : .response(200, #"{"signedTransactionInfo":"\#(found)"}"#)
    }
    #expect(try setting.run("123", "--json").lines().count == 1)
  }

  @Test func `every app is asked, or the one that is named`() throws {
    let apps = [Installation.app(), Installation.app("com.example.second", id: 2)]
    let setting = try Setting(apps: apps) { _ in Self.error(4_040_010) }
    #expect(try setting.run("123").code == 1)
    #expect(setting.server.requests.count == 4)
    #expect(try setting.run("123", "--app", "com.example.second").code == 1)
    #expect(setting.server.requests.count == 6)
    #expect(try setting.run("123", "--app", "com.example.third").code == 2)
    #expect(setting.server.requests.count == 6)
  }

  @Test func `what cannot be asked exits with 2, and no server is 3`() throws {
    let setting = try Setting { _ in Self.error(4_040_010) }
    for id in ["1-2", "../x", "a?b", "é", String(repeating: "1", count: 65), ""] {
      #expect(try setting.run(id).code == 2, "\(id)")
    }
    #expect(try setting.run("MX1", "--environment", "Sandbox").code == 2)
    #expect(setting.server.connections == 0)
    let installation = try Installation()
    let line = try installation.sign(Sample.notification(1))
    _ = try installation.run("ingest", try installation.file("one", [line]))
    let unconfigured = try installation.run("lookup", "123")
    #expect(unconfigured.code == 2 && unconfigured.errors.contains("appStore"), "\(unconfigured)")
    let broken = try Setting { _ in .close }
    let failed = try broken.run("123")
    #expect(failed.code == 3 && failed.errors.contains("the connection ended"), "\(failed)")
    #expect(broken.server.requests.count == 3)
  }

  @Test func `an interrupt ends the wait for Apple`() throws {
    let server = try Setting { _ in .pause(milliseconds: 20_000) }
    let running = try server.installation.launch(
      ["lookup", "123", "--config", server.installation.config.path])
    while server.server.requests.isEmpty { usleep(5_000) }
    running.signal(SIGINT)
    let finished = try running.finish()
    #expect(finished.code == 130, "\(finished)")
  }
}
