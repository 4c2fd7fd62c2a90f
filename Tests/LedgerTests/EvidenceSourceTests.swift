import AppStore
import Audit
import Ledger
import Queries
import Store
import StrictJSON
import Support
import Testing

/// A source of evidence is one value in `EventSource`: all that follows is the same for each.
@Suite struct EvidenceSourceTests {
  private static let sources = EventSource.all.filter { $0.evidenceJWS != nil }

  /// A line of NDJSON with what Apple signed a minute after notification 1.
  private static func line(_ source: EventSource) throws -> [UInt8] {
    let evidence = try #require(source.evidenceJWS)
    let payload =
      switch evidence.payload {
      case .transaction: Sample.transaction(2)
      case .renewalInfo: Sample.renewal(2).setting("autoRenewStatus", .integer(0))
      }
    let jws = String(decoding: try SharedAuthority.sign(payload: payload), as: UTF8.self)
    return JSONValue.object([
      (
        "body",
        .object([
          (evidence.member, .string(jws)), ("bundleId", .string(TestLedger.bundleId)),
          ("environment", .string("Production")),
        ])
      )
    ]).bytes
  }

  @Test(arguments: sources)
  func `evidence of every source is journaled, folded, exported and proven`(
    source: EventSource
  ) throws {
    let (ledger, copy) = (try TestLedger(), try TestLedger())
    let told = try SharedAuthority.sign(Sample.notification(1))
    #expect(try ledger.ingest(told, at: Sample.start) == .accepted(1))
    let before = try #require(try ledger.row("7000")).json.text
    let outcome = ledger.ingest(lines: [try Self.line(source)], at: Sample.start + 1).first
    #expect(outcome == .accepted(seq: 2))
    let events = try ledger.events()
    #expect(events.last?.source == source)
    #expect(events.last?.notificationType == source.evidenceJWS?.notificationType)
    #expect(TypeDescriptions.types.contains(events.last?.notificationType ?? ""))
    #expect(try #require(try ledger.row("7000")).json.text != before)
    // Out of the journal, and into another one.
    let lines = events.map { EventLine.of($0) }
    #expect(copy.ingest(lines: lines, at: Sample.start + 2).allSatisfy { $0.refusal == nil })
    #expect(try copy.events().map(\.hash) == events.map(\.hash))
    #expect(try copy.digest() == ledger.digest())
    for one in [ledger, copy] { #expect(try one.verify().findings.isEmpty) }
  }
}
