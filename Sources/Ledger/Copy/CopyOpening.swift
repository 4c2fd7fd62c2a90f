import Platform
import Store
import StrictJSON

/// Opens a folder as a copy of a shared journal, on the writer's thread.
///
/// 1. A folder without a journal becomes a copy with the shared journal's id, and follows it from
///    the beginning.
/// 2. A copy must be of this shared journal, and a prefix of it. While the shared journal cannot be
///    reached, the copy is opened all the same, for reads; that is checked later.
/// 3. A copy that has what the shared journal has not is put aside (`CopyRepair`), a new one
///    follows the shared journal, and what was forgotten is appended again.
struct CopyOpening {
  private let ledger: Ledger
  private let access: SharedAccess
  private let status: CopyStatus
  private let now: Int64
  private let pause: (Int32) -> Void
  private let shared: any SharedJournal

  /// How long a start waits for the shared journal, milliseconds.
  private static let limit: Int64 = 10_000
  /// How long it waits before it asks again, milliseconds.
  private static let retry: Int64 = 100

  init(
    _ ledger: Ledger, _ access: SharedAccess, _ status: CopyStatus, now: Int64,
    pause: @escaping (Int32) -> Void
  ) {
    self.ledger = ledger
    self.access = access
    self.status = status
    self.now = now
    self.pause = pause
    shared = access.open()
  }

  /// - Throws: what `Journal.open` throws; an error of the shared journal if the folder is empty
  ///   and the shared journal cannot be reached in 10 s, if its schema is newer, or if what it has
  ///   forgotten cannot be appended again now.
  func open(_ lock: borrowing FolderLock) throws(LedgerError) -> (Journal, CopyWriter) {
    var journal = try openJournal(lock)
    var writer = CopyWriter(shared, journal, access, status, pause: pause)
    do throws(LedgerError) {
      try writer.verify(by: Deadline(milliseconds: Self.limit))
    } catch {
      switch error.code {
      case .sharedDiverged:
        try CopyRepair(folder: ledger.folder, shared: shared, now: now).setAside(journal)
        status.regressions.add(1)
        journal = try openJournal(lock)
        writer = CopyWriter(shared, journal, access, status, pause: pause)
      case .sharedNewer, .sharedOtherRoots: throw error
      case _ where error.isOfSharedJournal:
        status.record(error)
        return (journal, writer)
      default: throw error
      }
    }
    try follow(journal, writer)
    return (journal, writer)
  }

  private func openJournal(_ lock: borrowing FolderLock) throws(LedgerError) -> Journal {
    let isThere = try ledger.folder.hasJournal()
    let journal = try Journal.open(
      ledger.folder, lock: lock, now: now, sharing: ledger.dictionary,
      decodingWith: { try? JournaledNotification.foldEvent($0) },
      sharedId: { (own) throws(LedgerError) in try self.sharedId(own, hasCopy: isThere) })
    try journal.readAgain()
    if let roots = access.trustRoots {
      // The configuration's roots were read, so they are certificates.
      guard let proof = try? TailProof(roots) else { throw .sql("a root is not a certificate") }
      journal.followedProof = proof.followed
      let folder = ledger.folder
      try journal.proveAgain { () throws(LedgerError) in try ProjectionList.discard(folder) }
    }
    return journal
  }

  /// The id of the shared journal, which takes `own` if it has none.
  ///
  /// A copy that is there keeps its own while the shared journal cannot be used, and is checked
  /// later. A new one cannot begin without it: what is only broken off is tried again.
  private func sharedId(_ own: [UInt8], hasCopy: Bool) throws(LedgerError) -> [UInt8] {
    let deadline = Deadline(milliseconds: Self.limit)
    // Counted as well, so that a start whose clock is played does not ask without end.
    var tries = Self.limit / Self.retry
    while true {
      do throws(LedgerError) {
        return try shared.identify(own, by: deadline)
      } catch {
        switch error.code {
        case .sharedNotNow where hasCopy, .sharedUnknown where hasCopy,
          .sharedRefused where hasCopy:
          return own
        case .sharedNotNow, .sharedUnknown:
          status.record(error)
          pause(Int32(Self.retry))
          tries -= 1
          if tries == 0 || deadline.hasPassed { throw error }
        default: throw error
        }
      }
    }
  }

  /// Follows as far as the time of a start allows, and puts back what was forgotten.
  private func follow(_ journal: Journal, _ writer: CopyWriter) throws(LedgerError) {
    let pending = try CopyRepair.pending(ledger.folder)
    do throws(LedgerError) {
      // What is put back is judged by a copy that has everything.
      let limit = pending.isEmpty ? Self.limit : Int64.max / 2_000_000
      try writer.poll(isDue: true, within: limit)
    } catch {
      // A copy of another history is found after the prefix was checked: the next start repairs it.
      // What cannot be followed stops no reads.
      guard pending.isEmpty, !error.isFatal else { throw error }
      return
    }
    for aside in pending {
      try CopyRepair.putBack(aside, journal, writer)
    }
  }
}
