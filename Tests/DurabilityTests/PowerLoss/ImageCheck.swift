import AppStore
import Foundation
import Platform
import Store
import Support

@testable import Audit
@testable import Ledger

/// Checks a data folder after a crash or a fault, through the public interface: it opens, accepts
/// what Apple sends again, and keeps its promises.
struct ImageCheck: Sendable {
  let configuration: Configuration
  /// Every notification that was sent, by uuid.
  let received: [String: Receiver.Received]

  /// - Parameters:
  ///   - answered: the events that must be in the journal: uuid by seq.
  ///   - isDeep: whether to prove all signatures again.
  func run(_ folder: DataFolder, answered: [Int64: String], isDeep: Bool = false) throws {
    try resend(folder, answered)
    let journal = try JournalReader.open(folder)
    let uuids = try checkChain(journal)
    for (seq, uuid) in answered where uuids[seq: seq] != uuid {
      throw TestFailure(
        "promise 1: seq \(seq) was answered as \(uuid), and is \(uuids[seq: seq] ?? "missing")"
          + " of \(uuids.count)")
    }
    try checkProjection(folder, journal, uuids.count)
    let faults = try journal.schemaFaults() + journal.pageFaults()
    guard faults.isEmpty else { throw TestFailure("promise 5: \(faults)") }
    journal.close()
    if isDeep { try verify(folder) }
  }

  /// Starts a ledger, and sends one notification again that was answered, and two that were not.
  private func resend(_ folder: DataFolder, _ answered: [Int64: String]) throws {
    let ledger = try Ledger.start(folder, now: Sample.start, onFailure: { _ in })
    defer { ledger.stop() }
    if let (seq, uuid) = answered.max(by: { $0.key < $1.key }), let known = received[uuid] {
      let outcome = submit(known, to: ledger)
      guard outcome == .duplicate(seq: seq) else {
        throw TestFailure("promise 4: seq \(seq) was sent again and was \(outcome)")
      }
    }
    let uuids = Set(answered.values)
    for (uuid, item) in received.sorted(by: { $0.key < $1.key }).filter({ !uuids.contains($0.key) })
      .prefix(2)
    {
      switch submit(item, to: ledger) {
      case .accepted, .duplicate, .quarantined: continue
      case let outcome: throw TestFailure("\(uuid) was sent again and was \(outcome)")
      }
    }
  }

  private func submit(_ item: Receiver.Received, to ledger: Ledger) -> Outcome {
    let done = BoundedQueue<Outcome>(capacity: 1)
    ledger.submit(item) { _ = done.enqueue($0) }
    return done.dequeue() ?? .unavailable("no answer")
  }

  /// Checks the chain, and that every event in it was sent. Returns the uuids in the order of seq.
  private func checkChain(_ journal: JournalReader) throws -> [String] {
    var uuids: [String] = []
    var previous = try journal.hash(at: 0) ?? []
    var violation: String?
    let head = try journal.head()
    try journal.forEachRaw(from: 1, through: head.seq) { raw in
      let uuid = raw.event.notificationUUID.description
      if raw.event.seq != Int64(uuids.count + 1) { violation = "a gap before \(raw.event.seq)" }
      if !raw.isIntact(after: previous) { violation = "the chain breaks at \(raw.event.seq)" }
      if received[uuid] == nil { violation = "\(uuid) was never sent" }
      previous = raw.event.hash
      uuids.append(uuid)
      return violation == nil
    }
    if let violation { throw TestFailure("promise 5: \(violation)") }
    guard uuids.count == Int(head.seq), Set(uuids).count == uuids.count else {
      throw TestFailure("promise 4: \(uuids.count) events, head \(head.seq)")
    }
    return uuids
  }

  private func checkProjection(_ folder: DataFolder, _ journal: JournalReader, _ events: Int) throws
  {
    let run = CheckRun(folder, .chain, threads: 1) { _, _ in true }
    try run.run([.projection])
    let report = run.report
    guard report.findings.isEmpty else {
      throw TestFailure("promise 7: \(report.findings.map(\.what))")
    }
    guard events == 0 || report.digest != nil && report.comparesProjection else {
      throw TestFailure("promise 7: no projection of \(events) events")
    }
    // A start repairs the link, which is not synced.
    let (live, linked) = (
      try ProjectionList.read(folder).live, SymbolicLink.target(of: folder.liveProjection)
    )
    guard linked == live else {
      throw TestFailure("the link leads to \(linked ?? "nothing"), and not to \(live ?? "nothing")")
    }
  }

  func verify(_ folder: DataFolder) throws {
    let report = try Verify.run(folder, configuration, threads: 1) { _, _ in true }
    guard report.findings.isEmpty else { throw TestFailure("verify: \(report.findings)") }
  }
}

extension [String] {
  /// The uuid of a seq, which counts from 1; nil if there is none.
  fileprivate subscript(seq seq: Int64) -> String? {
    seq >= 1 && seq <= count ? self[Int(seq) - 1] : nil
  }
}
