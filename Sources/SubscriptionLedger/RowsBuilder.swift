import Entitlements
import JournalStore

/// Makes the rows of this binary's fold ready: examines what is there, puts aside what cannot be
/// gone on with, and folds what is missing (promise 7).
enum RowsBuilder {
  static var foldVersion: Int { Int(Fold.version) }

  /// Leaves a projection at the live path that is usable and close to the journal's head. What goes
  /// wrong here is met again, and reported, by whoever opens the rows.
  static func prepare(_ folder: DataFolder, stop: () -> Bool) {
    let path = folder.projection(foldVersion)
    do throws(StoreError) {
      let journal = try JournalReader.open(folder)
      let identity = RowsFold.identity(journalId: try journal.journalId())
      let condition = try ProjectionFile.examine(path, identity) { (seq) throws(StoreError) in
        try journal.hash(at: seq)
      }
      let projection: Projection
      switch condition {
      case .usable: projection = try Projection.open(path)
      case .absent: projection = try Projection.create(path, identity)
      case .damaged, .otherJournal, .otherFold, .ahead, .diverged:
        try ProjectionFile.putAside(path)
        projection = try Projection.create(path, identity)
      }
      try RowsFold(projection).catchUp(journal) { _, _ in !stop() }
      try projection.close()
    } catch {}
  }
}
