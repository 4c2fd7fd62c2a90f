import Entitlements
public import JournalStore
import Platform

/// What a start finds of rows, and what is to be done about it (promise 7).
public enum ProjectionExaminer {
  public enum Found: Equatable, Sendable {
    /// This fold's rows are live, and can be caught up.
    case own(String)
    /// Another fold's rows are live. They answer until this fold's are built and caught up.
    case another
    /// Another fold's rows are live because somebody went back to them: they stay.
    case heldBack
    /// Nothing usable is live.
    case none
  }

  /// Puts aside what is damaged, ahead of the journal, or of another one; only under the folder's
  /// lock.
  static func look(_ folder: DataFolder, _ journal: JournalReader) throws(StoreError) -> Found {
    let list = try ProjectionList.read(folder)
    guard let live = list.live else { return .none }
    let path = folder.projection(named: live)
    switch try condition(path, journal) {
    case .usable: return .own(path)
    case .otherFold: return list.isHeld ? .heldBack : .another
    case .absent: break
    case .unfinished, .damaged, .otherJournal, .ahead, .diverged:
      try ProjectionFile.putAside(path)
    }
    // Its name stays first in the list: one that was live before it must not come back by itself.
    return .none
  }

  /// - Parameter folder: for who only looks at live rows: no file appears beside them.
  public static func condition(
    _ path: String, _ journal: JournalReader, onlyLookingAt folder: DataFolder? = nil
  ) throws(StoreError) -> ProjectionCondition {
    let identity = FoldIdentity.of(journalId: try journal.journalId())
    return try ProjectionFile.examine(path, identity, onlyLookingAt: folder) {
      (seq) throws(StoreError) in
      try journal.hash(at: seq)
    }
  }
}
