import CSQLite
import JournalStore
import LedgerEngine
import Synchronization

/// What was answered, noted by the callbacks of submissions.
final class OutcomeLog: Sendable {
  struct Entry: Sendable {
    let attempt: Int
    let outcome: Ledger.Outcome
    /// Whether something of the journal was written and not synced when the answer left.
    let wasUnsynced: Bool
  }

  private struct State {
    var entries: [Entry] = []
    var isUnsynced = false
    var isDead = false
  }

  private let state = Mutex(State())

  func note(_ attempt: Int, _ outcome: Ledger.Outcome) {
    state.withLock { state in
      // What a process says that has ended nobody hears.
      guard !state.isDead else { return }
      state.entries.append(
        Entry(attempt: attempt, outcome: outcome, wasUnsynced: state.isUnsynced))
    }
  }

  func take() -> [Entry] {
    state.withLock { state in
      defer { state.entries.removeAll() }
      return state.entries
    }
  }

  func setUnsynced(_ isUnsynced: Bool) { state.withLock { $0.isUnsynced = isUnsynced } }

  /// The process ended, or another one began, which has synced what it found.
  func setDead(_ isDead: Bool) {
    state.withLock { state in
      state.isDead = isDead
      if !isDead { state.isUnsynced = false }
    }
  }
}

/// The disk of one history: makes the step's fault happen, and knows what is synced.
final class Disk: FaultyFiles.Observer {
  private let book: OutcomeLog
  private var fault: FaultSchedule.Fault?
  private var seen = 0
  private var fullFor = 0
  /// Called once, in the middle of what SQLite does: the process ends here.
  private var onCrash: () -> Void = {}
  /// Whether the fault of the step came to pass.
  private(set) var hasFired = false

  init(_ book: OutcomeLog) { self.book = book }

  func begin(_ fault: FaultSchedule.Fault?, onCrash: @escaping () -> Void) {
    self.fault = fault
    self.onCrash = onCrash
    (seen, hasFired) = (0, false)
  }

  /// A step has ended; says whether anything went wrong in it.
  func end() -> Bool {
    defer { fullFor = max(0, fullFor - 1) }
    fault = nil
    // It holds the world that holds this disk.
    onCrash = {}
    return hasFired
  }

  func makeRoom() { fullFor = 0 }

  override func before(_ deed: FaultyFiles.Deed, _ room: FaultyFiles.Room) -> Int32? {
    if fullFor > 0, deed == .write {
      hasFired = true
      return SQLITE_FULL
    }
    guard let fault, fault.room == room, isMeant(fault.kind, deed) else { return nil }
    defer { seen += 1 }
    guard seen == fault.number else { return nil }
    self.fault = nil
    hasFired = true
    // SQLITE_IOERR_WRITE and SQLITE_IOERR_FSYNC (sqlite.org/rescode.html).
    switch fault.kind {
    case .writeFails: return SQLITE_IOERR | 3 << 8
    case .syncFails: return SQLITE_IOERR | 4 << 8
    case .diskIsFull(let steps):
      fullFor = steps + 1
      return SQLITE_FULL
    case .crash:
      onCrash()
      return nil
    }
  }

  private func isMeant(_ kind: FaultSchedule.Fault.Kind, _ deed: FaultyFiles.Deed) -> Bool {
    switch kind {
    case .writeFails, .diskIsFull: deed == .write
    case .syncFails: deed == .sync
    case .crash: true
    }
  }

  override func after(_ deed: FaultyFiles.Deed, _ room: FaultyFiles.Room, isGood: Bool) {
    guard room == .journal else { return }
    if deed == .write { book.setUnsynced(true) }
    if deed == .sync && isGood { book.setUnsynced(false) }
  }
}
