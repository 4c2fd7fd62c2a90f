import Ledger
import Platform
import Queries
import Store

/// How the worker takes the duty over from another daemon of a shared journal, and what it leaves
/// to the next one.
extension DeliveryWorker {
  /// Whether the places of new sinks, and those that were taken over, are where the next holder of
  /// the duty finds them. Until then nothing is sent: after a crash a sink without a place would
  /// begin at a later event, and all before it would be lost.
  enum Placing { case wanted, offered, done }

  /// Takes over where the last holder was, once for each time that the duty is taken. The places of
  /// this folder count only if they are what was left, or newer: another daemon may have gone on,
  /// or back, or have paused a sink.
  ///
  /// - Returns: false while this copy may lack events that are done with.
  /// - Throws: what SQLite reports.
  func takeOver(_ files: Files) throws(LedgerError) -> Bool {
    let duties = service.ledger.duties
    guard let epoch = duties.epoch(.sinks) else { return false }
    guard epoch != holding else { return true }
    let left = duties.position(.sinks).map(SinkPositions.init(parsing:)) ?? SinkPositions()
    guard try left.last <= files.reader.journal.head().seq || isWholeSinceTaken() else {
      return false
    }
    if left.file != files.store.id { try files.store.replace(left.records(since: Clock.now())) }
    (positions, holding, placing, takenAt) = (left, epoch, .wanted, nil)
    return true
  }

  /// Whether this copy had everything at some time since the duty was taken: an event that it lacks
  /// was forgotten by the shared journal, and what names it is lost.
  private func isWholeSinceTaken() -> Bool {
    guard let copy = service.ledger.copy else { return true }
    let now = Clock.monotonicNanoseconds()
    let since = takenAt ?? now
    takenAt = since
    return copy.millisecondsBehind < (now - since) / 1_000_000
  }

  func isPlaced(_ files: Files) throws(LedgerError) -> Bool {
    if placing == .wanted {
      store(at: Clock.now(), isLast: true)
      guard !isBlocked else { return false }
      try leavePlaces(files)
      placing = .offered
    }
    guard placing == .done || service.ledger.duties.isSaved(.sinks) else { return false }
    placing = .done
    return true
  }

  /// Says in the table of duties where each sink is.
  func leavePlaces(_ files: Files) throws(LedgerError) {
    guard service.ledger.copy != nil else { return }
    try positions.update(from: files.store, files.reader.journal)
    service.ledger.duties.save(positions.bytes, of: .sinks)
  }
}
