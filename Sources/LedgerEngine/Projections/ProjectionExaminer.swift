import Entitlements
public import JournalStore
import Platform

/// Decides what a start does with the projection that it finds (promise 7).
public enum ProjectionExaminer {
  /// What is live when the daemon starts.
  public enum Found: Equatable, Sendable {
    /// This fold's projection is live, at this path, and can be caught up.
    case own(String)
    /// Another fold's projection is live. It answers until this fold's is built and caught up.
    case another
    /// Another fold's projection is live because an operator returned to it: it stays live.
    case rolledBack
    /// No usable projection is live.
    case none
  }

  /// Finds the live projection, and moves it aside if it is damaged, ahead of the journal, or of
  /// another journal. Requires the folder's lock.
  static func inspect(_ folder: DataFolder, _ journal: JournalReader) throws(StoreError) -> Found {
    let list = try ProjectionList.read(folder)
    guard let live = list.live else { return .none }
    let path = folder.projection(named: live)
    switch try condition(path, journal) {
    case .usable: return .own(path)
    case .otherFold: return list.isHeld ? .rolledBack : .another
    case .absent: break
    case .unfinished, .damaged, .otherJournal, .ahead, .diverged:
      try ProjectionFile.putAside(path)
    }
    // Its name stays first in the list: one that was live before must not become live by itself.
    return .none
  }

  /// Compares a projection with this fold and with the journal.
  ///
  /// - Parameter folder: its folder, for a caller that only reads: then no file is made beside it.
  /// - Throws: what the journal or `ProjectionFile.examine` throws.
  public static func condition(
    _ path: String, _ journal: JournalReader, readOnlyIn folder: DataFolder? = nil
  ) throws(StoreError) -> ProjectionCondition {
    let identity = FoldIdentity.of(journalId: try journal.journalId())
    return try ProjectionFile.examine(path, identity, readOnlyIn: folder) {
      (seq) throws(StoreError) in
      try journal.hash(at: seq)
    }
  }
}
