import Foundation
import Store
import StrictJSON
import Support
import Testing

/// Genuine notifications that are not admitted are stored and can be admitted later (promise 2).
@Suite struct QuarantineTests {
  private func list(_ installation: Installation) throws -> [JSONElement] {
    let finished = try installation.run("quarantine", "list", "--json")
    #expect(finished.code == 0, "\(finished)")
    return try finished.lines()
  }

  /// Two notifications of an app that is not configured; one of them is sent twice and stored once.
  private func filled() throws -> Installation {
    let installation = try Installation()
    let daemon = try installation.start()
    let client = daemon.client()
    for number in [1, 2, 1] {
      let body = try installation.sign(
        Sample.notification(number, otid: "600", bundleId: "com.example.other"))
      let answer = try #require(client.post(body))
      #expect(answer.status == 422)
      #expect(answer.json?["code"]?.string == "other_app")
      #expect(answer.json?["retryable"]?.boolean == false)
    }
    #expect(try daemon.stop().code == 0)
    #expect(try installation.events().isEmpty)
    let items = try list(installation)
    #expect(items.map { $0["notification_uuid"]?.string } == [Sample.uuid(1), Sample.uuid(2)])
    #expect(items.allSatisfy { $0["reason"]?.string == "other_app" })
    return installation
  }

  @Test(arguments: [false, true])
  func `a notification is admitted after the configuration was corrected`(
    besideDaemon: Bool
  ) throws {
    let installation = try filled()
    let ids = try list(installation).compactMap { $0["id"]?.integer }
    #expect(ids.count == 2)
    // Before the configuration is corrected it is refused again and stays.
    let early = try installation.run("quarantine", "admit", "\(ids[0])")
    #expect(early.code == 1 && early.errors.contains("other_app"), "\(early)")
    #expect(try list(installation).count == 2)
    try installation.configure(apps: [
      Installation.app(), Installation.app("com.example.other"),
    ])
    let daemon = besideDaemon ? try installation.start() : nil
    #expect(try installation.run("quarantine", "admit", "\(ids[0])").code == 0)
    #expect(
      try installation.events().map { $0["notification_uuid"]?.string } == [Sample.uuid(1)])
    #expect(try list(installation).compactMap { $0["id"]?.integer } == [ids[1]])
    let row = try installation.run("entitlement", "600", "--json", "--as-of", "2026-01-02")
    #expect(try row.lines().first?["status"]?.string == "active", "\(row)")
    #expect(try installation.run("quarantine", "admit", "\(ids[0])").code == 1)
    #expect(try installation.run("quarantine", "drop", "\(ids[1])").code == 0)
    #expect(try installation.run("quarantine", "drop", "\(ids[1])").code == 1)
    #expect(try list(installation).isEmpty)
    for event in ["quarantine_admitted", "quarantine_dropped"] {
      _ = try daemon?.logged("\"\(event)\"", "\"count\":1", "\"user\":\"\(NSUserName())\"")
    }
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.events().count == 1)
    #expect(try installation.verify().code == 0)
  }

  @Test func `a redelivery is journaled after its app is configured`() throws {
    let installation = try filled()
    try installation.configure(apps: [
      Installation.app(), Installation.app("com.example.other"),
    ])
    let daemon = try installation.start()
    let body = try installation.sign(
      Sample.notification(1, otid: "600", bundleId: "com.example.other"))
    #expect(try list(installation).count == 2)
    #expect(daemon.client().post(body)?.status == 200)
    #expect(try installation.events().count == 1)
    // It was signed again, with its nested JWS: it is the same, and the stored one is no longer
    // needed.
    #expect(try list(installation).count == 1)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
  }

  private func foreign(_ installation: Installation, _ numbers: Range<Int>) throws -> [[UInt8]] {
    try numbers.map {
      try installation.sign(Sample.notification($0, bundleId: "com.example.other"))
    }
  }

  @Test(arguments: [false, true])
  func `all notifications of an app or with a reason are admitted or dropped at once`(
    besideDaemon: Bool
  ) throws {
    let installation = try Installation()
    let strangers = try (0..<5).map {
      try installation.sign(Sample.notification(900 + $0, bundleId: "com.example.stranger"))
    }
    let file = try installation.file("foreign", try foreign(installation, 0..<600) + strangers)
    #expect(try installation.run("ingest", "--skip-bad", file).code == 1)
    try installation.configure(apps: [
      Installation.app(), Installation.app("com.example.other", id: 1),
    ])
    let refused = try installation.run(
      "quarantine", "admit", "--app", "com.example.other", "--json")
    #expect(refused.code == 1, "\(refused)")
    #expect(
      try refused.lines().first?.value.text
        == #"{"admitted":0,"duplicates":0,"conflicts":0,"refused":600,"held":0,"#
        + #""without_purchases":0}"#)
    try installation.configure(apps: [
      Installation.app(), Installation.app("com.example.other"),
    ])
    let daemon = besideDaemon ? try installation.start() : nil
    let nothing = try installation.run("quarantine", "admit", "--app", "com.example.absent")
    #expect(nothing.code == 0 && nothing.output.hasPrefix("0 admitted"), "\(nothing)")
    let admitted = try installation.run("quarantine", "admit", "--app", "com.example.other")
    #expect(admitted.code == 0 && admitted.output.hasPrefix("600 admitted"), "\(admitted)")
    #expect(try list(installation).count == 5)
    let dropped = try installation.run("quarantine", "drop", "--reason", "other_app", "--json")
    #expect(try dropped.lines().first?["dropped"]?.integer == 5, "\(dropped)")
    #expect(try list(installation).isEmpty)
    #expect(try installation.events().count == 600)
    for wrong in [["admit"], ["drop"], ["drop", "1", "--app", "a"], ["admit", "1", "2"]] {
      let finished = try installation.launch(["quarantine"] + wrong).finish()
      #expect(finished.code == 2, "\(wrong): \(finished)")
    }
    if let daemon { #expect(try daemon.stop().code == 0) }
    #expect(try installation.verify().code == 0)
  }

  /// Any developer can send as many as he likes.
  @Test func `a page for a narrowed token is full or the last one`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let own = try (1...5).map { number in
      try installation.sign(
        Sample.notification(number, otid: "600").setting("data.transaction.bundleId", .string("x")))
    }
    for body in own { #expect(daemon.client().post(body)?.status == 422) }
    let alien = Sample.notification(9, otid: "600", bundleId: "com.example.alien")
    #expect(daemon.client().post(try installation.sign(alien))?.status == 422)
    #expect(try daemon.stop().code == 0)
    // 2,500 of another app between the first and the rest, each as the program stores it.
    let columns =
      "reason, is_foreign, source, notification_uuid || i, environment, bundle_id, "
      + "notification_type, signed_date_ms, received_at_ms, body_sha256, dictionary_id, body, "
      + "original_transaction_id"
    try installation.tamper(
      """
      UPDATE quarantine SET id = 10000 + id WHERE id > 1;
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO quarantine SELECT 100 + i, \(columns)
        FROM n, quarantine WHERE bundle_id = 'com.example.alien'
      """)
    try installation.configure(with: [
      (
        "readTokens",
        .array([
          Installation.token(
            "narrow", Installation.token, [("bundleIds", .array([.string("com.example.app")]))])
        ])
      )
    ])
    let served = try installation.start()
    var after = ""
    var pages: [Int] = []
    repeat {
      let page = try #require(served.client().get("/v1/quarantine?limit=3\(after)")?.json)
      pages.append(page["items"]?.elements.count ?? 0)
      after = page["next_page"]?.string.map { "&after=\($0)" } ?? ""
    } while !after.isEmpty
    #expect(pages == [3, 2])
    try served.stop()
  }

  @Test func `past the limit of other apps' notifications the answer does not claim to keep one`()
    throws
  {
    let installation = try Installation()
    let file = try installation.file(
      "foreign", try foreign(installation, 0..<Journal.quarantineLimit - 1))
    #expect(try installation.run("ingest", "--skip-bad", file).code == 1)
    let daemon = try installation.start()
    let bodies = try foreign(
      installation, Journal.quarantineLimit..<Journal.quarantineLimit + 2)
    let details = bodies.map { daemon.client().post($0)?.json?["detail"]?.string ?? "" }
    #expect(details[0].contains("it is stored in quarantine"), "\(details)")
    #expect(details[1].contains("it is not stored: quarantine is full"), "\(details)")
    // One that is stored already is stored still.
    let again = daemon.client().post(bodies[0])
    #expect(again?.status == 422 && again?.json?["detail"]?.string == details[0])
    // Replays cost no commit: the -wal does not grow.
    let wal = installation.journal.path + "-wal"
    func size() throws -> Int { try Data(contentsOf: URL(filePath: wal)).count }
    try daemon.command.wait(60, "the count to be written") { try overflow(installation) == 1 }
    let before = try size()
    for body in bodies { #expect(daemon.client().post(body)?.status == 422) }
    #expect(try size() == before)
    // What names no app has a limit of its own, and so has what is ours.
    let unnamed = try installation.sign(Sample.notification(1).setting("data.bundleId", nil))
    let ours = try installation.sign(Sample.notification(2).setting("data.environment", nil))
    for body in [unnamed, ours] {
      let answer = daemon.client().post(body)
      let detail = answer?.json?["detail"]?.string
      #expect(detail?.contains("it is stored in quarantine") == true, "\(answer?.text ?? "")")
    }
    #expect(daemon.client().post(try installation.sign(Sample.notification(3)))?.status == 200)
    #expect(try daemon.stop().code == 0)
    #expect(try overflow(installation) == 2)
  }

  private func overflow(_ installation: Installation) throws -> Int64 {
    try JournalReader.open(DataFolder(path: installation.data.path)).quarantineCounts().overflow
  }
}
