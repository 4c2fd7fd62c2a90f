import Entitlements
public import Platform
public import Store

/// Decides which projection of a folder is live for this program (promise 7).
public enum ProjectionChoice {
  /// What a folder has for this program.
  public enum Found: Equatable, Sendable {
    /// The newest whole projection of this fold, at this path.
    case own(String)
    /// None of this fold; the newest whole one of another, at this path.
    case other(String)
    case none
  }

  /// Finds the live projection, and puts those aside that are damaged, ahead of the journal or of
  /// another journal. What cannot be put aside or written, as on a full disk, waits for the next
  /// start. Requires the folder's lock.
  ///
  /// - Parameter onDamage: called for each damaged file.
  static func choose(
    _ folder: DataFolder, _ journal: JournalReader, onDamage: (LedgerError) -> Void
  ) throws(LedgerError) -> Found {
    let list = try ProjectionList.read(folder)
    for name in list.names {
      let path = folder.projection(named: name)
      switch try condition(path, journal) {
      case .damaged:
        onDamage(.corrupt("\(name) cannot be read"))
        try? ProjectionFile.putAside(path, in: folder)
      case .unfinished, .otherJournal, .ahead, .diverged:
        try? ProjectionFile.putAside(path, in: folder)
      case .absent, .usable, .otherFold, .otherLayout: break
      }
    }
    let found = try find(folder, journal)
    // Also repairs the link.
    if case .own(let path) = found,
      let name = list.names.first(where: { folder.projection(named: $0) == path })
    {
      try? ProjectionFile.makeLive(name, in: folder)
    }
    return found
  }

  /// Finds the live projection, and changes nothing.
  ///
  /// - Parameter isReading: set by a caller that only reads: then no file is made beside it.
  /// - Throws: what the journal or `ProjectionFile.examine` throws.
  public static func find(
    _ folder: DataFolder, _ journal: JournalReader, isReading: Bool = false
  ) throws(LedgerError) -> Found {
    var other: String?
    for name in try ProjectionList.read(folder).names {
      let path = folder.projection(named: name)
      switch try condition(path, journal, readOnlyIn: isReading ? folder : nil) {
      case .usable: return .own(path)
      case .otherFold: other = other ?? path
      default: break
      }
    }
    return other.map { .other($0) } ?? .none
  }

  /// Opens a projection of any layout to compare it with this fold's rows; nil if it is not whole,
  /// or not of this journal.
  ///
  /// - Parameter isReading: as of `find`.
  /// - Throws: what the journal, `ProjectionFile` or `ProjectionComparison` throws.
  public static func openCompared(
    _ path: String, _ journal: JournalReader, in folder: DataFolder, isReading: Bool = false
  ) throws(LedgerError) -> ProjectionComparison? {
    let reading = isReading ? folder : nil
    switch try condition(path, journal, readOnlyIn: reading, isOfAnyLayout: true) {
    case .usable, .otherFold: return try ProjectionComparison(folder, path: path)
    default: return nil
    }
  }

  /// Compares a projection with this fold and with the journal.
  ///
  /// - Parameters:
  ///   - folder: its folder, for a caller that only reads: then no file is made beside it.
  ///   - isOfAnyLayout: as of `ProjectionFile.examine`.
  /// - Throws: what the journal or `ProjectionFile.examine` throws.
  public static func condition(
    _ path: String, _ journal: JournalReader, readOnlyIn folder: DataFolder? = nil,
    isOfAnyLayout: Bool = false
  ) throws(LedgerError) -> ProjectionCondition {
    let identity = journal.fold.identity(of: try journal.journalId())
    return try ProjectionFile.examine(
      path, identity, readOnlyIn: folder, isOfAnyLayout: isOfAnyLayout
    ) {
      (seq) throws(LedgerError) in
      try journal.hash(at: seq)
    }
  }
}
