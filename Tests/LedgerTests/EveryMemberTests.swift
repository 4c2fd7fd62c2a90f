import Audit
import Entitlements
import Foundation
import Ledger
import Queries
import StrictJSON
import Support
import Testing

@testable import AppStore

/// A notification with every member that Apple's pages and library name. Most are not read.
@Suite struct EveryMemberTests {
  private static func fixture() throws -> JSONValue {
    let file = Bundle.module.bundleURL.appendingPathComponent("Fixtures/every-member.json")
    return try JSONDocument(parsing: Array(Data(contentsOf: file))).root.value
  }

  private static let id = "2000000000000001"
  /// The nested payloads: their names in the fixture, in a notification, and the members that are
  /// read of them.
  private static let nested = [
    ("transaction", "signedTransactionInfo", Transaction.memberNames + ["bundleId"]),
    ("renewalInfo", "signedRenewalInfo", RenewalInfo.memberNames),
  ]

  /// A notification with other nested payloads.
  private static func changing(
    _ notification: JSONValue,
    _ change: (String, String, [String], JSONValue) -> (String, JSONValue)
  ) throws -> JSONValue {
    var data = try #require(notification["data"])
    for (name, signed, members) in nested {
      let changed = change(name, signed, members, try #require(data[name]))
      guard case .object(let others) = data.without([name]) else { continue }
      data = .object(others + [changed])
    }
    guard case .object(let outer) = notification.without(["data"]) else { return notification }
    return .object(outer + [("data", data)])
  }

  private static func row(_ ledger: TestLedger) throws -> String {
    try #require(try ledger.row(id, now: 1_767_312_000_000)).json.text
  }

  @Test func `every member is journaled, and shown as it was sent`() throws {
    let (sent, ledger) = (try Self.fixture(), try TestLedger())
    #expect(try ledger.ingest(SharedAuthority.sign(sent), at: 1_767_226_000_000) == .accepted(1))
    let history = try ledger.reader().history(
      Self.id, environment: nil, bundleId: nil, LedgerReader.Question(now: 0), isRaw: true)
    let payload = try #require(history?.items.first?.json["payload"])
    let expected = try Self.changing(sent) { _, signed, _, payload in (signed, payload) }
    #expect(payload.sorted() == expected.sorted())
    #expect(try ledger.verify().findings.isEmpty)
  }

  /// Without all members that no table lists, the row is the same.
  @Test func `the members that no table lists change no row`() throws {
    let sent = try Self.fixture()
    let less = try Self.changing(sent) { name, _, members, payload in
      guard case .object(let all) = payload else { return (name, payload) }
      let names = Set(all.map(\.0))
      #expect(Set(members).isSubset(of: names), "the fixture lacks a member that is read")
      #expect(names.count > members.count + 3)
      return (name, payload.without(names.subtracting(members + ["environment"])))
    }
    let (whole, part) = (try TestLedger(), try TestLedger())
    #expect(try whole.ingest(SharedAuthority.sign(sent), at: 1) == .accepted(1))
    #expect(try part.ingest(SharedAuthority.sign(less), at: 1) == .accepted(1))
    #expect(try Self.row(whole) == Self.row(part))
  }
}
