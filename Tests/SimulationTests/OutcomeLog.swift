import CSQLite
import Ledger
import Store
import Synchronization

/// The outcomes of submissions, recorded by their callbacks.
final class OutcomeLog: Sendable {
  struct Entry: Sendable {
    let attempt: Int
    let outcome: Outcome
    /// Whether a write to the journal was not synced when the submission was answered.
    let wasUnsynced: Bool
  }

  private struct State {
    var entries: [Entry] = []
    var isUnsynced = false
    var isDead = false
  }

  private let state = Mutex(State())

  func record(_ attempt: Int, _ outcome: Outcome) {
    state.withLock { state in
      // A process that has ended cannot answer.
      guard !state.isDead else { return }
      state.entries.append(
        Entry(attempt: attempt, outcome: outcome, wasUnsynced: state.isUnsynced))
    }
  }

  func drain() -> [Entry] {
    state.withLock { state in
      defer { state.entries.removeAll() }
      return state.entries
    }
  }

  func setUnsynced(_ isUnsynced: Bool) { state.withLock { $0.isUnsynced = isUnsynced } }

  /// Records that the process ended, or that another one started, which has synced the files.
  func setDead(_ isDead: Bool) {
    state.withLock { state in
      state.isDead = isDead
      if !isDead { state.isUnsynced = false }
    }
  }
}

/// The disk of one history: injects the fault of a step, and tracks what is synced.
final class Disk: FaultyFiles.Observer {
  private let outcomeLog: OutcomeLog
  private var fault: FaultSchedule.Fault?
  private var operationCount = 0
  private var fullSteps = 0
  /// Called once, within an operation of SQLite: the process ends here.
  private var onCrash: () -> Void = {}
  /// Whether the fault of the step occurred.
  private(set) var hasFired = false

  init(_ outcomeLog: OutcomeLog) { self.outcomeLog = outcomeLog }

  func begin(_ fault: FaultSchedule.Fault?, onCrash: @escaping () -> Void) {
    self.fault = fault
    self.onCrash = onCrash
    (operationCount, hasFired) = (0, false)
  }

  /// Ends a step.
  ///
  /// - Returns: whether a fault occurred in it.
  func end() -> Bool {
    defer { fullSteps = max(0, fullSteps - 1) }
    fault = nil
    // The closure retains the cluster, which retains this disk.
    onCrash = {}
    return hasFired
  }

  func freeSpace() { fullSteps = 0 }

  override func before(_ operation: FaultyFiles.Operation, _ file: FaultyFiles.FileKind) -> Int32? {
    if fullSteps > 0, operation == .write {
      hasFired = true
      return SQLITE_FULL
    }
    guard let fault, fault.file == file, applies(fault.kind, operation) else { return nil }
    defer { operationCount += 1 }
    guard operationCount == fault.number else { return nil }
    self.fault = nil
    hasFired = true
    // SQLITE_IOERR_WRITE and SQLITE_IOERR_FSYNC (sqlite.org/rescode.html).
    switch fault.kind {
    case .writeFails: return SQLITE_IOERR | 3 << 8
    case .syncFails: return SQLITE_IOERR | 4 << 8
    case .diskIsFull(let steps):
      fullSteps = steps + 1
      return SQLITE_FULL
    case .crash:
      onCrash()
      return nil
    }
  }

  private func applies(_ kind: FaultSchedule.Fault.Kind, _ operation: FaultyFiles.Operation) -> Bool
  {
    switch kind {
    case .writeFails, .diskIsFull: operation == .write
    case .syncFails: operation == .sync
    case .crash: true
    }
  }

  override func after(
    _ operation: FaultyFiles.Operation, _ file: FaultyFiles.FileKind, isGood: Bool
  ) {
    guard file == .journal else { return }
    if operation == .write { outcomeLog.setUnsynced(true) }
    if operation == .sync && isGood { outcomeLog.setUnsynced(false) }
  }
}
