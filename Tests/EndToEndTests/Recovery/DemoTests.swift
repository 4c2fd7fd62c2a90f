import Foundation
import StrictJSON
import Support
import Testing

/// `demo`, as `make run` starts it.
@Suite struct DemoTests {
  /// Runs it until it can be tried, and ends it as ^C does.
  private func run(_ folder: URL, _ installation: Installation) throws -> CommandResult {
    let running = try installation.launch(["demo", "--data", folder.path])
    try running.wait(60, "the demo") {
      !running.isRunning || running.outputSoFar().contains("^C stops it")
    }
    running.signal(SIGINT)
    return try running.finish()
  }

  @Test func `a folder of another installation is left as it is`() throws {
    let installation = try Installation()
    let folder = installation.folder
    let before = try Data(contentsOf: installation.config)
    let refused = try run(folder, installation)
    #expect(refused.code == 2 && refused.errors.contains("another installation"), "\(refused)")
    #expect(try Data(contentsOf: installation.config) == before)
    try FileManager.default.removeItem(at: installation.config)
    try FileManager.default.createDirectory(
      at: installation.data, withIntermediateDirectories: true)
    try Data().write(to: installation.journal)
    #expect(try run(folder, installation).code == 2)
  }

  @Test func `an outage of three days is told in five lines and recovered, in each run`() throws {
    let installation = try Installation()
    let folder = installation.folder.appending(path: "demo")
    for number in 1...2 {
      let finished = try run(folder, installation)
      #expect(finished.code == 0, "\(finished)")
      let lines = finished.output.split(separator: "\n")
      let first = try #require(lines.firstIndex { $0.hasPrefix("An outage: ") })
      let told = lines[first..<(lines.firstIndex { $0.hasPrefix("The same customer") } ?? first)]
      #expect(told.count == 5, "\(told)")
      let counts = try #require(
        finished.output.firstMatch(of: /has recovered (\d+) of the (\d+) notifications/))
      let (recovered, missed) = (Int(counts.1) ?? 0, Int(counts.2) ?? 0)
      // The App Store may deliver one again before it is asked for it.
      #expect(
        (missed - 2...missed).contains(recovered) && recovered > 60, "run \(number): \(counts.0)")
      #expect(!finished.errors.contains(#""level""#), "\(finished.errors)")
      // One customer before the outage and after it, each with eight fields.
      let (before, after) = (lines[..<first].joined(separator: "\n"), finished.output)
      #expect(before.contains(/status +grace_period\n  gives_access +yes/), "\(before)")
      #expect(after.contains(/status +revoked\n  gives_access +no/), "\(after)")
      #expect(after.matches(of: /(?m)^  [a-z_]+ {2,}\S/).count == 16, "\(after)")
      // Some currencies have no decimals.
      let price = /(?m)^  price +[0-9]+(\.[0-9]{2})? [A-Z]{3}$/
      #expect(after.matches(of: price).count == 2, "\(after)")
      #expect(lines.suffix(2).first == "^C stops it.", "\(lines.suffix(2))")
    }
    let config = folder.appending(path: "config.json").path
    #expect(try installation.launch(["verify", "--config", config]).finish().code == 0)
    let quarantined = try installation.launch(["quarantine", "list", "--config", config]).finish()
    #expect(quarantined.output == "0 in quarantine\n", "\(quarantined)")
  }

  @Test func `the requests that it prints are answered, each with a line end`() throws {
    let installation = try Installation()
    let folder = installation.folder.appending(path: "demo")
    let running = try installation.launch(["demo", "--data", folder.path])
    try running.wait(60, "the demo") {
      !running.isRunning || running.outputSoFar().contains("^C stops it")
    }
    let shown = running.outputSoFar()
    let requests = shown.matches(of: /curl -s -H 'Authorization: Bearer (\S+)' '([^']+)'/)
    #expect(requests.count == 3)
    for request in requests {
      let url = try #require(URL(string: String(request.2)))
      let client = Client(port: UInt16(url.port ?? 0))
      let path = url.path + (url.query.map { "?\($0)" } ?? "")
      let answer = try #require(client.get(path, token: String(request.1)))
      #expect(answer.status == 200 && answer.body.last == 0x0A, "\(path)")
      let list = answer.json?["items"]?.elements ?? []
      #expect(answer.json?["object"]?.string != "list" || !list.isEmpty, "\(path)")
    }
    let command = try #require(shown.firstMatch(of: /in another terminal: (.*)/)).1
    let elsewhere = try RunningCommand(
      ["-c", String(command)], in: URL(filePath: "/"), program: URL(filePath: "/bin/sh")
    ).finish()
    #expect(elsewhere.code == 0 && !elsewhere.output.isEmpty, "\(elsewhere)")
    running.signal(SIGINT)
    #expect(try running.finish().code == 0)
  }
}
