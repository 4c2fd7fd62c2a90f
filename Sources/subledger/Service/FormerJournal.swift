import Platform
import Store
import StrictJSON

/// The journal as it was before this program migrated it, so that the program of before can come
/// back: one copy in the data folder, which the next one replaces, and which 30 days later is
/// removed.
struct FormerJournal {
  private let folder: DataFolder
  /// Milliseconds since 1970.
  private let now: Int64

  private static let keeping: Int64 = 30 * 86_400_000
  /// Milliseconds that a copy may delay the start.
  private static let longestDelay: Int64 = 60_000
  /// A copy takes at most this part of the free disk.
  private static let share: Int64 = 3

  /// Copies the journal if the start is about to migrate it, and says what it did. Nothing that
  /// fails here keeps the daemon from starting.
  static func keep(_ folder: DataFolder, now: Int64) {
    let former = FormerJournal(folder: folder, now: now)
    do throws(LedgerError) {
      // What is wrong with folder or journal, the start says; it changes nothing then.
      guard (try? folder.requireNoBackup()) != nil, (try? folder.requireOwner()) != nil,
        let isLocked = try? folder.isLocked(), !isLocked
      else { return }
      try former.removeOld()
      let schema = (try? folder.olderJournalSchema()) ?? nil
      if let schema { try former.copy(of: schema) }
    } catch {
      former.warn("\(error)")
    }
  }

  private func removeOld() throws(LedgerError) {
    guard try DurableFile.size(folder.journal) != nil else { return }
    for path in try folder.formerJournals() {
      let name = path.dropFirst(folder.path.count + 1 + DataFolder.formerJournal.count)
      let time = Int64(name.prefix { $0 != "." }) ?? 0
      if time < now - Self.keeping { try DurableFile.remove(path) }
    }
  }

  /// The bytes of a copy that the start of this program would make; nil if it has no room.
  ///
  /// - Throws: what reading file sizes and free space throws.
  static func size(in folder: DataFolder) throws(LedgerError) -> Int64? {
    let size = try DurableFile.size(folder.journal) ?? 0
    return size <= (try DiskSpace.of(folder.path).free) / share ? size : nil
  }

  private func copy(of schema: Int) throws(LedgerError) {
    guard try Self.size(in: folder) != nil else {
      return warn("it takes more than a third of the free disk")
    }
    let path = folder.path + "/\(DataFolder.formerJournal)\(now).sqlite"
    // An erasure, or the next start, removes what a kill leaves.
    let partial = folder.path + "/\(DataFolder.formerJournal)partial"
    let deadline = Deadline(milliseconds: Self.longestDelay)
    let progress = ProgressReporter("keep the journal as it was", counting: "bytes")
    let copied: JournalCopy?
    do throws(LedgerError) {
      copied = try JournalCopy.make(of: folder, at: partial) { done, total in
        progress.show(done, share: Double(done) / Double(max(1, total)))
        return !deadline.hasPassed
      }
    } catch {
      try DurableFile.remove(partial)
      throw error
    }
    guard copied != nil else {
      try DurableFile.remove(partial)
      return warn("it takes longer than a minute")
    }
    for other in try folder.formerJournals() where other != partial {
      try DurableFile.remove(other)
    }
    try DurableFile.rename(partial, to: path)
    Log.write(
      .info, "journal_kept",
      [
        ("path", .string(path)), ("schema", .integer(Int64(schema))),
        ("next", .string("the way back to the former program: subledger help install")),
      ])
  }

  private func warn(_ reason: String) {
    Log.write(
      .warning, "journal_not_kept",
      [
        ("error", .string(reason)),
        ("next", .string("the former program cannot come back without a backup of before")),
      ])
  }
}
