import Foundation
import JournalStore
import Platform
import Support

@testable import Configuration
@testable import LedgerAudit
@testable import LedgerEngine

/// What must hold of a data folder after whatever happened to it, seen through the front door: it
/// opens, takes what Apple sends again, and keeps its promises.
struct ImageCheck: Sendable {
  let configuration: Configuration
  let received: [String: Receiver.Received]

  /// - Parameters:
  ///   - answered: events that are there for certain, by place.
  ///   - isDeep: whether all signatures are proven again.
  func run(_ folder: DataFolder, answered: [Int64: String], isDeep: Bool = false) throws {
    try resend(folder, answered)
    let journal = try JournalReader.open(folder)
    let places = try walk(journal)
    for (place, uuid) in answered where places[safe: place] != uuid {
      throw Trouble(
        "promise 1: seq \(place) was answered as \(uuid), and is \(places[safe: place] ?? "gone")"
          + " of \(places.count)")
    }
    try checkRows(folder, journal, places.count)
    let faults = try journal.schemaFaults() + journal.pageFaults()
    guard faults.isEmpty else { throw Trouble("promise 5: \(faults)") }
    journal.close()
    if isDeep { try verify(folder) }
  }

  /// A start, one notification that was answered, and two that may not have been.
  private func resend(_ folder: DataFolder, _ answered: [Int64: String]) throws {
    let ledger = try Ledger.start(folder, now: Sample.start, onFailure: { _ in })
    defer { ledger.stop() }
    if let (place, uuid) = answered.max(by: { $0.key < $1.key }), let known = received[uuid] {
      let outcome = submit(known, to: ledger)
      guard outcome == .duplicate(seq: place) else {
        throw Trouble("promise 4: seq \(place) came again and was \(outcome)")
      }
    }
    let uuids = Set(answered.values)
    for (uuid, item) in received.sorted(by: { $0.key < $1.key }).filter({ !uuids.contains($0.key) })
      .prefix(2)
    {
      switch submit(item, to: ledger) {
      case .accepted, .duplicate, .quarantined: continue
      case let outcome: throw Trouble("\(uuid) was sent again and was \(outcome)")
      }
    }
  }

  private func submit(_ item: Receiver.Received, to ledger: Ledger) -> Ledger.Outcome {
    let done = BoundedQueue<Ledger.Outcome>(capacity: 1)
    ledger.submit(item) { _ = done.put($0) }
    return done.take() ?? .unavailable("no answer")
  }

  /// The chain, and that nothing is in it that nobody sent.
  private func walk(_ journal: JournalReader) throws -> [String] {
    var uuids: [String] = []
    var previous = try journal.hash(at: 0) ?? []
    var trouble: String?
    let head = try journal.head()
    try journal.forEachRaw(from: 1, through: head.seq) { raw in
      let uuid = raw.event.notificationUUID
      if raw.event.seq != Int64(uuids.count + 1) { trouble = "a gap before \(raw.event.seq)" }
      if !raw.isIntact(after: previous) { trouble = "the chain breaks at \(raw.event.seq)" }
      if received[uuid] == nil { trouble = "nobody sent \(uuid)" }
      previous = raw.event.hash
      uuids.append(uuid)
      return trouble == nil
    }
    if let trouble { throw Trouble("promise 5: \(trouble)") }
    guard uuids.count == Int(head.seq), Set(uuids).count == uuids.count else {
      throw Trouble("promise 4: \(uuids.count) events, head \(head.seq)")
    }
    return uuids
  }

  private func checkRows(_ folder: DataFolder, _ journal: JournalReader, _ events: Int) throws {
    let findings = Verify.Findings()
    let rows = try ProjectionCheck.run(folder, journal, head: Int64(events), findings) { false }
    let (found, count) = findings.sorted
    guard count == 0 else { throw Trouble("promise 7: \(found.map(\.what))") }
    guard events == 0 || rows.digest != nil && rows.isCompared else {
      throw Trouble("promise 7: no rows of \(events) events")
    }
  }

  func verify(_ folder: DataFolder) throws {
    let report = try Verify.run(folder, configuration, threads: 1) { _, _ in true }
    guard report.findingCount == 0 else { throw Trouble("verify: \(report.findings)") }
  }
}

extension [String] {
  /// The one at a place, counted from 1.
  fileprivate subscript(safe place: Int64) -> String? {
    place >= 1 && place <= count ? self[Int(place) - 1] : nil
  }
}
