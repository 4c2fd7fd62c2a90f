import Foundation
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
    // Its nested JWS are signed again too, which is other content: the stored one stays in
    // quarantine until it is dropped.
    #expect(try list(installation).count == 2)
    #expect(try daemon.stop().code == 0)
    #expect(try installation.verify().code == 0)
  }
}
