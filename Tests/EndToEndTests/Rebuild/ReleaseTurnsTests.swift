import AppStore
import Entitlements
import Foundation
import Ledger
import Store
import StrictJSON
import Support
import Testing

/// Two programs with different folds, started in turns over a journal that grows: each answers by
/// its own fold, whichever was live before.
@Suite(
  .serialized,
  .enabled(
    if: ChangedRule.program != nil,
    "SUBLEDGER_CHANGED_RULE names no build with a changed rule; `make trial` makes one"))
struct ReleaseTurnsTests {
  private static let turns = 10
  private static let token = "5d1a6b8e-9a30-4b1c-8f5e-0c5a9be1d2f7"

  @Test func `programs that are started in turns each answer by their own fold`() throws {
    let fleet = try ReleaseFleet(min(ChangedRule.customers, 300))
    for turn in 0..<Self.turns {
      let isChanged = turn % 2 == 0
      let daemon = try fleet.startAtOnce(isChanged: isChanged)
      let client = daemon.client()
      try #require(client.post(try newSubscriber(turn, fleet))?.status == 200)
      // At once, while this program's rows are built or caught up.
      try expectReads(client, fleet, isChanged, sample: 40, turn)
      try expectNobodyMissing(client, fleet, through: turn)
      try daemon.command.wait(60, "the projection to follow") {
        client.get("/readyz", token: nil)?.json?["projection"]?.string == "following"
      }
      try expectReads(client, fleet, isChanged, sample: 40, turn)
      try expectNobodyMissing(client, fleet, through: turn)
      try expectList(client, fleet, isChanged)
      #expect(try daemon.stop().code == 0)
    }
    #expect(try fleet.projections().count == 2)
  }

  /// A subscriber in billing retry, whose status the changed rule changes, with the common token.
  private func newSubscriber(_ turn: Int, _ fleet: ReleaseFleet) throws -> [UInt8] {
    let start = fleet.end - 40 * 86_400_000
    var notification = Sample.notification(9_000 + turn, otid: "\(990_000 + turn)")
      .setting("signedDate", .integer(fleet.end + Int64(turn)))
      .setting("data.status", .integer(3))
    for part in ["data.transaction", "data.renewalInfo"] {
      notification = notification.setting("\(part).signedDate", .integer(fleet.end + Int64(turn)))
        .setting("\(part).appAccountToken", .string(Self.token))
    }
    notification = notification.setting("data.transaction.purchaseDate", .integer(start))
      .setting("data.transaction.expiresDate", .integer(start + 30 * 86_400_000))
      .setting("data.renewalInfo.renewalDate", .integer(start + 30 * 86_400_000))
      .setting("data.renewalInfo.isInBillingRetryPeriod", .boolean(true))
    return try fleet.installation.sign(notification)
  }

  /// The status of a customer by an independent fold of one program's rules.
  private func status(
    _ key: StreamKey, _ journal: JournalReader, _ isChanged: Bool
  ) throws -> String? {
    var events: [FoldEvent] = []
    try journal.forEachPayload(of: key) { payload in
      if let event = try? JournaledNotification.foldEvent(payload) { events.append(event) }
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    let plain = PlainRow(events: events, t: now)
    guard plain.summary != nil, let status = Entitlement.Status(rawValue: plain.status) else {
      return nil
    }
    return (isChanged ? ChangedRule.status(status) : status).rawValue
  }

  private func keys(_ journal: JournalReader) throws -> [StreamKey] {
    try (1...(try journal.lastStreamId())).compactMap { try journal.streamKey($0) }
  }

  private func expectReads(
    _ client: Client, _ fleet: ReleaseFleet, _ isChanged: Bool, sample: Int, _ turn: Int
  ) throws {
    let journal = try JournalReader.open(fleet.folder)
    let keys = try keys(journal)
    for index in 0..<sample {
      let key = keys[(index * keys.count / sample + turn) % keys.count]
      let id = key.originalTransactionId
      let row = client.get("/v1/entitlements/\(id)?environment=\(key.environment)")
      let expected = try status(key, journal, isChanged)
      #expect(row?.json?["status"]?.string == expected, "turn \(turn), \(id)")
      let history = client.get("/v1/entitlements/\(id)/history?environment=\(key.environment)")
      let count = try journal.seqs(of: key).count
      #expect(history?.json?.events.count == count, "turn \(turn), \(id)")
    }
  }

  /// Every subscriber that came is in the list by their token, from the first moment on.
  private func expectNobodyMissing(
    _ client: Client, _ fleet: ReleaseFleet, through turn: Int
  ) throws {
    let list = client.get("/v1/entitlements?app_account_token=\(Self.token)")
    let ids = list?.json?["items"]?.elements.compactMap { $0["original_transaction_id"]?.string }
    #expect(ids == (0...turn).map { "\(990_000 + $0)" }, "\(list?.text.prefix(300) ?? "")")
  }

  /// All of the list, and the counts of the overview, agree with the independent fold.
  private func expectList(
    _ client: Client, _ fleet: ReleaseFleet, _ isChanged: Bool
  ) throws {
    let journal = try JournalReader.open(fleet.folder)
    var expected: [String: String] = [:]
    for key in try keys(journal) {
      expected["\(key.environment)/\(key.originalTransactionId)"] =
        try status(key, journal, isChanged)
    }
    var found: [String: String] = [:]
    var after = ""
    while true {
      let page = try #require(client.get("/v1/entitlements?limit=500\(after)")?.json)
      for row in page["items"]?.elements ?? [] {
        let id = row["original_transaction_id"]?.string ?? ""
        found["\(row["environment"]?.string ?? "")/\(id)"] = row["status"]?.string
      }
      guard let next = page["next_page"]?.string else { break }
      after = "&after=\(next)"
    }
    #expect(found == expected)
    var counts: [String: Int64] = [:]
    let overview = client.get("/v1/overview")?.json?["rows"]
    for item in overview?["by_status"]?.elements ?? [] {
      counts[item["status"]?.string ?? "", default: 0] += item["count"]?.integer ?? 0
    }
    #expect(counts == expected.values.reduce(into: [:]) { $0[$1, default: 0] += 1 })
  }
}

extension ReleaseFleet {
  /// A daemon of one of the two builds, as soon as it listens.
  fileprivate func startAtOnce(isChanged: Bool) throws -> RunningDaemon {
    installation.program =
      isChanged ? ChangedRule.program ?? RunningCommand.program : RunningCommand.program
    return try installation.startWithoutProjection()
  }
}
