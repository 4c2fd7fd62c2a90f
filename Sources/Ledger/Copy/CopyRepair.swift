import Platform
import Store
import StrictJSON

/// Repairs a copy whose shared journal was restored, or lost what it had answered in a failover
/// (docs: "a shared journal that forgot").
///
/// The copy's journal is moved to the folder `aside-<time>.<seq>.pending`, where seq is the last
/// event that both have; the events behind it are written to `forgotten-<time>.ndjson`, for the
/// operator. Once all of them are in the shared journal again, `.pending` is removed from the name.
/// A crash at any point leaves a state from which the next start continues.
struct CopyRepair {
  let folder: DataFolder
  let shared: any SharedJournal
  /// Milliseconds since 1970 UTC.
  let now: Int64

  private static let pendingSuffix = ".pending"
  private static let prefix = "aside-"
  /// How long each question to the shared journal may take, milliseconds.
  private static let limit: Int64 = 10_000

  /// A journal that was put aside.
  struct Aside {
    let folder: DataFolder
    /// The last event that the shared journal had as well.
    let commonSeq: Int64
  }

  // MARK: Putting aside

  /// Closes a copy and moves its journal out of the way.
  func setAside(_ journal: Journal) throws(LedgerError) {
    let head = journal.head.seq
    let common = try commonSeq(journal)
    try journal.close()
    let lines = "\(folder.path)/forgotten-\(now).ndjson"
    try writeForgotten(after: common, to: lines)
    let aside = DataFolder(
      path: "\(folder.path)/\(Self.prefix)\(now).\(common)\(Self.pendingSuffix)")
    try aside.create()
    // The journal was closed, so nothing of it is in another file.
    guard try DurableFile.size(folder.journalWAL) ?? 0 == 0 else { throw .busy }
    try DurableFile.remove(folder.journalWAL)
    try DurableFile.remove(folder.journal + "-shm")
    try DurableFile.rename(folder.journal, to: aside.journal)
    try DurableFile.syncFolder(of: folder.journal)
    Log.write(
      .error, "shared_journal_regressed",
      [
        ("seq", .integer(head)), ("common_seq", .integer(common)),
        ("events", .integer(head - common)), ("file", .string(lines)),
        ("next", .string("none: what was forgotten is appended again")),
      ])
  }

  /// The last event that the copy and the shared journal both have, found by halving.
  private func commonSeq(_ journal: Journal) throws(LedgerError) -> Int64 {
    var (known, unknown) = (Int64(0), journal.head.seq + 1)
    while unknown - known > 1 {
      let middle = known + (unknown - known) / 2
      let theirs = try shared.hash(at: middle, by: Deadline(milliseconds: Self.limit))
      if try theirs == journal.hash(at: middle) { known = middle } else { unknown = middle }
    }
    return known
  }

  private func writeForgotten(after seq: Int64, to path: String) throws(LedgerError) {
    let reader = try JournalReader.open(folder)
    defer { reader.close() }
    var last = seq
    let head = try reader.head().seq
    let file = try AtomicFileWriter(path)
    while last < head {
      let batch = try reader.events(after: last, limit: 500)
      guard let end = batch.last else { break }
      let arrivals = try reader.arrivals(in: last + 1...end.seq)
      for event in batch {
        try file.write(EventLine.of(event, arrivals[event.seq]))
      }
      last = end.seq
    }
    try file.finish()
  }

  // MARK: Putting back

  /// The journals that were put aside and not put back yet, the oldest first.
  static func pending(_ folder: DataFolder) throws(LedgerError) -> [Aside] {
    let names = try FolderListing.names(folder.path).sorted()
    var found: [Aside] = []
    for name in names where name.hasPrefix(prefix) && name.hasSuffix(pendingSuffix) {
      let parts = name.split(separator: ".")
      guard parts.count == 3, let seq = Int64(parts[1]) else { continue }
      let aside = Aside(folder: DataFolder(path: "\(folder.path)/\(name)"), commonSeq: seq)
      // A crash before the journal was moved left an empty folder.
      if try aside.folder.hasJournal() { found.append(aside) }
    }
    return found
  }

  /// How many events or others are put back in one commit.
  private static let batch = 500

  /// Appends to the shared journal what an aside journal has and it has not.
  static func putBack(
    _ aside: Aside, _ journal: Journal, _ writer: CopyWriter
  ) throws(LedgerError) {
    let reader = try JournalReader.open(aside.folder)
    defer { reader.close() }
    var count = 0
    func put(
      _ submissions: [Submission], _ accounts: [ForgottenAccount] = [],
      _ held: [HeldEvidence] = []
    ) throws(LedgerError) {
      count += try writer.write(by: Deadline(milliseconds: limit)) { (ship) throws(LedgerError) in
        try journal.putBack(submissions, accounts: accounts, held: held, shipping: ship)
      }.result
    }
    try put([], try reader.accounts(firstNamedAfter: aside.commonSeq))
    var seq = aside.commonSeq
    while case (let events, let last?) = try reader.newEvents(after: seq, limit: batch) {
      try put(events.map { .event($0) })
      seq = last
    }
    var id: Int64 = 0
    while case (let items, let last?) = try reader.newQuarantine(after: id, limit: batch) {
      try put(items.map { .quarantine($0) })
      id = last
    }
    id = 0
    while true {
      let held = try reader.heldEvidence(after: id, limit: batch)
      guard let last = held.last else { break }
      try put([], [], held)
      id = last.id
    }
    try DurableFile.rename(
      aside.folder.path, to: String(aside.folder.path.dropLast(pendingSuffix.count)))
    Log.write(.info, "forgotten_put_back", [("events", .integer(Int64(count)))])
  }
}
