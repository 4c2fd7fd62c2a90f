import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// No command takes an outcome that it does not know, or something that is missing, for the end of
/// its work.
@Suite struct SilentEndTests {
  private static func receipt(
    _ installation: Installation, _ records: [ReceiptContent.Record], on day: Int64 = 3,
    of bundleId: String = "com.example.app"
  ) throws -> [UInt8] {
    Sample.receiptBody(
      try installation.receipt(
        ReceiptContent(
          bundleId: bundleId, creationDate: Sample.start + day * Sample.day, records: records)))
  }

  @Test(arguments: [false, true], [false, true])
  func `a receipt without purchases is counted, and the lines after it are journaled`(
    besideDaemon: Bool, skipsBad: Bool
  ) throws {
    let installation = try Installation()
    let daemon = besideDaemon ? try installation.start() : nil
    let lines = try [
      installation.sign(Sample.notification(1)), Self.receipt(installation, []),
      installation.sign(Sample.notification(2)), Self.receipt(installation, [], on: 4),
      Self.receipt(installation, [Sample.record(1, of: "8000")], on: 5),
    ]
    let command = ["ingest", try installation.file("lines", lines)]
    let options = skipsBad ? ["--skip-bad"] : []
    let counted = try installation.run(command + options + ["--json"])
    let counts = try #require(try counted.lines().last)
    #expect(counted.code == 0, "\(counted)")
    #expect(counts["lines"]?.integer == 5 && counts["without_purchases"]?.integer == 2)
    #expect(counts["accepted"]?.integer == 3 && counts["refused"]?.integer == 0, "\(counted)")
    #expect(try installation.events().count == 3)
    let text = try installation.run(command + options)
    #expect(text.code == 0 && text.output.contains("2 receipts without purchases"), "\(text)")
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  @Test(arguments: [#"{"accepted":1},null"#, #"{"accepted":1},{"tomorrow":1}"#, #"{"accepted":1}"#])
  func `an outcome that ingest does not know is an error`(outcomes: String) throws {
    let installation = try Installation()
    try installation.fill(1...1)
    let socket = installation.data.appending(path: "control.sock")
    let daemon = try ScriptedServer(at: socket.path) { _ in
      [.response(200, "{\"outcomes\":[\(outcomes)]}")]
    }
    let lines = try (1...2).map { try installation.sign(Sample.notification($0)) }
    for options in [[], ["--skip-bad"]] {
      let finished = try installation.run(
        ["ingest", installation.file("lines", lines)] + options)
      #expect(finished.code == 3 && finished.errors.contains("again"), "\(finished)")
    }
    #expect(daemon.requests.count == 2)
  }

  @Test(arguments: [false, true])
  func `admitting a receipt of which there is nothing to journal says so`(besideDaemon: Bool) throws
  {
    let installation = try Installation()
    let (known, other) = ("com.example.app", "com.example.other")
    let lines = try [
      Self.receipt(installation, [], of: other),
      Self.receipt(installation, [Sample.record(1)], on: 5, of: other),
    ]
    let refused = try installation.run(
      "ingest", "--skip-bad", try installation.file("lines", lines))
    #expect(refused.code == 1, "\(refused)")
    try installation.configure(apps: [Installation.app(known), Installation.app(other)])
    let daemon = besideDaemon ? try installation.start() : nil
    let older = try Self.receipt(installation, [Sample.record(1)], on: 4, of: other)
    #expect(
      try installation.run("ingest", try installation.file("older", [older])).code == 0)
    let admitted = try installation.run("quarantine", "admit", "--app", other, "--json")
    let report = try #require(try admitted.lines().last)
    #expect(admitted.code == 1, "one stays: \(admitted)")
    #expect(report["held"]?.integer == 1 && report["without_purchases"]?.integer == 1)
    // The one that is held has left the quarantine.
    let left = try installation.run("quarantine", "list", "--json").lines()
    let id = try #require(left.first?["id"]?.integer)
    #expect(left.count == 1)
    let one = try installation.run("quarantine", "admit", "\(id)")
    #expect(one.code == 1 && one.errors.contains("quarantine drop \(id)"), "\(one)")
    #expect(try installation.run("quarantine", "drop", "\(id)").code == 0)
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  @Test func `recover counts what the daemon does not say to have taken`() throws {
    let store = try PlayedStore(["--customers", "2", "--days", "20"])
    try store.installation.fill(1...1)
    let socket = store.installation.data.appending(path: "control.sock")
    let daemon = try ScriptedServer(at: socket.path) { request in
      let lines = request.body.count { $0 == 0x0A } + 1
      let nothing = [String](repeating: "null", count: lines).joined(separator: ",")
      return [.response(200, "{\"outcomes\":[\(nothing)]}")]
    }
    let (code, app) = try store.recover()
    #expect(code == 1)
    #expect(app["listed"]?.integer ?? 0 > 0, "\(app.text)")
    let refused = app["refused"]?.elements.first
    #expect(refused?["code"]?.string == "skipped", "\(app.text)")
    #expect(refused?["count"]?.integer == app["listed"]?.integer, "\(app.text)")
    #expect(!daemon.requests.isEmpty)
  }

  @Test(arguments: [2, 3]) func `export of a journal that misses an event is an error`(
    seq: Int
  ) throws {
    let installation = try Installation()
    try installation.fill(1...4)
    try installation.tamper("DELETE FROM event WHERE seq = \(seq)")
    let exported = try installation.run("export")
    #expect(exported.code == 1, "\(exported)")
    #expect(exported.errors.contains("behind seq \(seq - 1) is missing"), "\(exported)")
  }

  @Test func `events ends where the journal that it follows was replaced by a shorter one`() throws
  {
    let (installation, shorter) = (try Installation(), try Installation())
    try installation.fill(1...3)
    try shorter.fill(1...1)
    let following = try installation.launch([
      "events", "--follow", "--json", "--config", installation.config.path,
    ])
    try following.wait(60, "three events") {
      following.outputSoFar().split(separator: "\n").count == 3
    }
    let other = installation.data.appending(path: "other").path
    try FileManager.default.copyItem(atPath: shorter.journal.path, toPath: other)
    #expect(rename(other, installation.journal.path) == 0)
    let finished = try following.finish()
    #expect(finished.code == 3 && finished.errors.contains("replaced"), "\(finished)")
  }
}
