import Foundation
import StrictJSON
import Support
import Testing

/// The commands: arguments, exit codes and output, beside the daemon and without one.
@Suite struct CommandTests {
  private static let names = [
    "serve", "ingest", "entitlement", "history", "explain", "events", "export",
    "rebuild", "verify", "receipt", "anchor", "quarantine", "simulate", "version", "demo", "backup",
    "restore", "init", "doctor", "help", "man", "completions", "query", "lookup", "customer",
    "test-notification", "healthy", "upgrade-check", "report",
  ]

  /// Twelve renewals of two customers, a month or so apart.
  private func filled() throws -> Installation {
    let installation = try Installation()
    let lines = try (1...12).map { number in
      try installation.sign(
        Sample.notification(
          number, otid: "700\(number % 2)", type: number < 3 ? "SUBSCRIBED" : "DID_RENEW",
          environment: number > 10 ? "Sandbox" : "Production"))
    }
    let timed = lines.enumerated().map { number, line in
      Array("{\"received_at_ms\":\(Sample.start + Int64(number) * 1000),\"body\":".utf8) + line
        + [UInt8(ascii: "}")]
    }
    let ingested = try installation.run("ingest", try installation.file("all", timed))
    #expect(ingested.code == 0, "\(ingested)")
    return installation
  }

  @Test(arguments: names) func `every command has help with an example and refuses unknown flags`(
    name: String
  ) throws {
    let installation = try Installation()
    let help = try installation.launch([name, "--help"]).finish()
    #expect(help.code == 0 && help.errors.isEmpty, "\(help)")
    #expect(help.output.contains("subledger \(name)"))
    #expect(help.output.lowercased().contains("example"))
    let unknown = try installation.launch([name, "--no-such-flag"]).finish()
    #expect(unknown.code == 2, "\(unknown)")
    #expect(unknown.output.isEmpty && !unknown.errors.isEmpty)
  }

  @Test func `entitlement answers by both clocks`() throws {
    let installation = try filled()
    let day = Sample.day
    func ask(_ arguments: String...) throws -> CommandResult {
      try installation.launch(
        ["entitlement", "7001", "--json", "--config", installation.config.path] + arguments
      ).finish()
    }
    #expect(try installation.run("entitlement", "no-such-id").code == 1)
    #expect(try ask("--as-of", "2025-12-31T23:59:59Z").code == 1)
    let signed = Sample.start + 60_000
    let first = try #require(try ask("--as-of", "\(signed)").lines().first)
    #expect(first["status"]?.string == "active" && first["event_count"]?.integer == 1)
    #expect(first["expires_at"]?.integer == signed + 30 * day)
    #expect(first["as_of"]?.integer == signed && first["known_at"]?.kind == .null)
    // Received by the third second: events 1 and 3, signed in minutes 1 and 3.
    let known = try #require(
      try ask("--known-at", "\(Sample.start + 2500)", "--as-of", "\(Sample.start + day)")
        .lines().first)
    #expect(known["event_count"]?.integer == 2)
    #expect(known["known_at"]?.integer == Sample.start + 2500)
    #expect(known["last_event"]?["seq"]?.integer == 3)
    let later = try #require(try ask("--as-of", "2027-01-01T00:00:00Z").lines().first)
    #expect(later["status"]?.string == "expired" && later["gives_access"]?.boolean == false)
    #expect(later["event_count"]?.integer == 5)
    let sandbox = try #require(try ask("--environment", "Sandbox").lines().first)
    #expect(sandbox["environment"]?.string == "Sandbox")
    #expect(sandbox["event_count"]?.integer == 1)
    let text = try installation.run("entitlement", "7001", "--as-of", "2026-01-02T00:00:00Z")
    #expect(text.code == 0 && text.output.contains("status") && text.output.contains("active"))
  }

  @Test func `history shows what each event changed, as the HTTP route does`() throws {
    let installation = try filled()
    let items = try installation.run("history", "7001", "--json").lines()
    #expect(items.last?["object"]?.string == "transition")
    #expect(items.last?["changes"]?["gives_access"]?["after"]?.boolean == false)
    let history = items.dropLast()
    #expect(history.map { $0["seq"]?.integer } == [1, 3, 5, 7, 9])
    #expect(history.first?["changes"]?["status"]?["after"]?.string == "active")
    #expect(history.first?["changes"]?["status"]?["before"]?.kind == .null)
    #expect(history.last?["changes"]?["expires_at"]?["after"]?.integer != nil)
    #expect(history.allSatisfy { $0["late"]?.boolean == false })
    #expect(try installation.run("history", "7001").output.contains("DID_RENEW"))
    #expect(try installation.run("history", "1").code == 1)
    let daemon = try installation.start()
    let answer = try #require(daemon.client().get("/v1/entitlements/7001/history")?.json)
    #expect(answer["object"]?.string == "list" && answer["next_page"]?.kind == .null)
    #expect(answer["items"]?.elements.map(\.value.text) == items.map(\.value.text))
    try daemon.stop()
  }

  @Test func `events are filtered`() throws {
    let installation = try filled()
    func seqs(_ arguments: String...) throws -> [Int64] {
      let finished = try installation.launch(
        ["events", "--json", "--config", installation.config.path] + arguments
      ).finish()
      return try finished.lines().compactMap { $0["seq"]?.integer }
    }
    #expect(try seqs() == Array(1...12))
    #expect(try seqs("--type", "SUBSCRIBED") == [1, 2])
    #expect(try seqs("--environment", "Sandbox") == [11, 12])
    #expect(try seqs("--otid", "7001", "--limit", "2") == [1, 3])
    #expect(try seqs("--after", "9", "--limit", "2") == [10, 11])
    #expect(try seqs("--subtype", "VOLUNTARY").isEmpty)
    #expect(try seqs("--bundle-id", "com.example.app").count == 12)
    #expect(try seqs("--bundle-id", "com.example.other").isEmpty)
    #expect(try seqs("--source", "v2,v1").count == 12)
    #expect(try seqs("--source", "catalog").isEmpty)
    let source = try installation.run("events", "--source", "apple")
    #expect(source.code == 2 && source.errors.contains("--source takes any of v2,v1,"))
    let valued = try installation.run("events", "--json=1")
    #expect(valued.code == 2 && valued.errors.contains("--json takes no value"), "\(valued)")
    let since = "2026-01-01T00:00:03Z"
    #expect(try seqs("--since", since) == Array(4...12))
    #expect(try seqs("--until", since) == [1, 2, 3])
    #expect(try seqs("--since", since, "--until", "\(Sample.start + 5000)") == [4, 5])
    #expect(try installation.run("events", "--since", since, "--until", since).code == 2)
    let none = try installation.run("events", "--since", "2027-01-01")
    #expect(none.code == 0 && none.output.isEmpty)
    #expect(none.errors.hasSuffix("subledger events: no event matches\n"), "\(none)")
  }

  @Test func `events follows the journal until SIGINT`() throws {
    let installation = try filled()
    let daemon = try installation.start()
    let following = try installation.launch([
      "events", "--follow", "--json", "--after", "11", "--config", installation.config.path,
    ])
    try following.wait(60, "the twelfth") { following.outputSoFar().contains(Sample.uuid(12)) }
    #expect(daemon.client().post(try installation.sign(Sample.notification(77)))?.status == 200)
    try following.wait(60, "the new one") { following.outputSoFar().contains(Sample.uuid(77)) }
    following.signal(SIGINT)
    let finished = try following.finish(within: 20)
    #expect(finished.code == 130)
    #expect(try finished.lines().count == 2)
    try daemon.stop()
  }

  @Test func `events waits for the feed of a daemon, with the same filter, until SIGINT`() throws {
    let installation = try filled()
    let socket = installation.data.appending(path: "control.sock")
    let answered = Flag()
    let server = try ScriptedServer(at: socket.path) { _ in
      // The second answer does not come while it is waited for.
      if answered.isSet { return [.pause(milliseconds: 60_000)] }
      answered.set()
      return [.response(200, "{}")]
    }
    let following = try installation.launch([
      "events", "--follow", "--type", "DID_RENEW", "--otid", "7001",
      "--environment", "Production", "--config", installation.config.path,
    ])
    try following.wait(60, "the second question") { server.requests.count == 2 }
    following.signal(SIGINT)
    #expect(try following.finish(within: 30).code == 130)
    let asked = server.requests.map(\.target)
    #expect(Set(asked).count == 1 && asked[0].hasPrefix("/control/events?after="), "\(asked)")
    let filter = "&type=DID_RENEW&environment=Production&original_transaction_id=7001"
    #expect(asked[0].hasSuffix("&wait=30&limit=1" + filter), "\(asked)")

    try FileManager.default.removeItem(at: socket)
    let daemon = try installation.start()
    let cursor = asked[0].dropFirst("/control".count).replacing("wait=30", with: "wait=0")
    let page = daemon.client().get("/v1" + cursor)
    #expect(page?.status == 200 && page?.json?["items"]?.elements.isEmpty == true, "\(page as Any)")
    try daemon.stop()
  }

  @Test func `readers see the same row during rebuilds`() throws {
    let installation = try filled()
    let daemon = try installation.start()
    let port = daemon.port
    let path = "/v1/entitlements/7001?environment=Production"
    func comparable(_ answer: Client.Answer?) -> String? {
      guard let answer, answer.status == 200 else { return "\(answer?.status ?? 0)" }
      return answer.json?.value.setting("as_of", nil).text
    }
    let expected = comparable(daemon.client().get(path))
    let before = try installation.verify().report["digest"]?.string
    let done = DispatchGroup()
    let stop = Flag()
    let wrong = Flag()
    for _ in 0..<2 {
      done.enter()
      Thread.detachNewThread {
        let client = Client(port: port)
        while !stop.isSet {
          let answer = client.get(path)
          let row = answer?.json?.value.setting("as_of", nil).text
          if answer?.status != 200 || row != expected { wrong.set() }
        }
        done.leave()
      }
    }
    for _ in 0..<3 {
      let rebuilt = try installation.run("rebuild", "--apply", "--json")
      #expect(rebuilt.code == 0, "\(rebuilt)")
      #expect(try rebuilt.lines().last?["digest"]?.string == before)
    }
    stop.set()
    done.wait()
    #expect(!wrong.isSet, "a reader did not see \(expected ?? "")")
    // What is journaled after the switch is in the new projection.
    let body = try installation.sign(Sample.notification(50, otid: "7001"))
    #expect(daemon.client().post(body)?.status == 200)
    #expect(daemon.client().get(path)?.json?["last_event"]?["seq"]?.integer == 13)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
  }

  /// Commands read consistent states while the daemon writes.
  @Test func `commands succeed beside a loaded daemon and do not disturb it`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let port = daemon.port
    let bodies = try (0..<450).map {
      try installation.sign(Sample.notification($0, otid: "70\($0 % 40)"))
    }
    let (stop, refused) = (Flag(), Flag())
    let done = DispatchGroup()
    for part in 0..<3 {
      done.enter()
      Thread.detachNewThread {
        let client = Client(port: port)
        for body in bodies[(part * 150)..<(part * 150 + 150)] where !stop.isSet {
          if client.post(body)?.status != 200 { refused.set() }
        }
        done.leave()
      }
    }
    while try installation.events("--limit", "20").count < 20 {}
    for _ in 0..<2 {
      let verified = try installation.run("verify")
      #expect(verified.code == 0, "\(verified)")
      let rebuilt = try installation.run("rebuild", "--apply")
      #expect(rebuilt.code == 0, "\(rebuilt)")
      let row = try installation.run("entitlement", "703", "--json")
      #expect(row.code == 0, "\(row)")
      #expect(try installation.run("history", "703", "--json").code == 0)
    }
    stop.set()
    done.wait()
    #expect(!refused.isSet)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
  }

  @Test func `a flag wins over the configuration file`() throws {
    let installation = try filled()
    let elsewhere = installation.folder.appending(path: "elsewhere").path
    #expect(try installation.run("events", "--data", elsewhere).code != 0)
  }
}
