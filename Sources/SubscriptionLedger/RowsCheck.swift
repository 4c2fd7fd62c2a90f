import Entitlements
import JournalStore

/// Whether the live rows are what the journal folds to (promises 6 and 7), one stream at a time, so
/// that memory does not grow with the journal.
enum RowsCheck {
  static func run(
    _ folder: DataFolder, _ journal: JournalReader, head: Int64, _ findings: Verify.Findings
  ) throws(StoreError) -> Outcome {
    guard let name = try ProjectionList.read(folder).live else { return Outcome() }
    let path = folder.projection(named: name)
    switch try RowsBuilder.condition(path, journal) {
    case .usable: break
    case .absent: return Outcome()
    case .otherFold: return try ofAnotherFold(folder, path, findings)
    case .damaged, .unfinished:
      findings.add(7, nil, "the rows' file is damaged; start rebuilds it")
    case .otherJournal: findings.add(7, nil, "the rows are of another journal")
    case .ahead(let through):
      findings.add(
        1, head + 1, "the rows know events up to seq \(through): the journal's end is gone")
    case .diverged(let through):
      findings.add(5, through, "the rows were folded from another history")
    }
    guard case .usable(let through) = try RowsBuilder.condition(path, journal) else {
      return Outcome()
    }
    let rows = try ProjectionReader.open(folder, path: path)
    let count = try compare(rows, journal, findings)
    // Beside a running daemon both move on: then only what stands still can be counted.
    if try rows.foldedThrough() == through, try journal.head().seq == head, through <= head {
      let expected = try journal.streamCount(through: through)
      if expected != count { findings.add(7, nil, "\(count) rows for \(expected) streams") }
    }
    return Outcome(rows: count, digest: try digest(rows, findings))
  }

  struct Outcome {
    var rows: Int64 = 0
    /// In lower-case hexadecimal; nil where no rows are live.
    var digest: String?
    /// Whether they were folded again and compared.
    var isCompared = true
  }

  /// Only the program that made them can fold them again.
  private static func ofAnotherFold(
    _ folder: DataFolder, _ path: String, _ findings: Verify.Findings
  ) throws(StoreError) -> Outcome {
    let rows = try ProjectionReader.open(folder, path: path)
    return Outcome(
      rows: try rows.count(), digest: try digest(rows, findings), isCompared: false)
  }

  /// Added up anew, and held to what the file says.
  private static func digest(
    _ rows: ProjectionReader, _ findings: Verify.Findings
  ) throws(StoreError) -> String {
    try rows.beginSnapshot()
    defer { rows.endSnapshot() }
    var digest = RowsDigest()
    try rows.forEach { row in
      digest.add(row)
      return true
    }
    if try rows.digest() != digest {
      findings.add(7, nil, "the rows' digest is not that of the rows")
    }
    return Hexadecimal.encode(digest.bytes)
  }

  private static func compare(
    _ rows: ProjectionReader, _ journal: JournalReader, _ findings: Verify.Findings
  ) throws(StoreError) -> Int64 {
    var count: Int64 = 0
    var last: StreamKey?
    while true {
      // Rows and how far they go are of one moment, also while a daemon folds on.
      try rows.beginSnapshot()
      let through = try rows.foldedThrough()
      let piece = try rows.rows(after: last, limit: 500)
      rows.endSnapshot()
      for row in piece {
        let (state, broken) = try RowsFold.refold(row.key, through: through, journal)
        if RowsFold.row(row.key, state, broken) != row {
          findings.add(7, nil, "the row of a stream differs from its refold")
        }
        if let broken = row.broken { findings.add(9, nil, "a row could not be folded: \(broken)") }
        count += 1
      }
      guard let end = piece.last else { return count }
      last = end.key
    }
  }
}
