import Encoding
import Entitlements
import JournalStore
import LedgerEngine

/// Whether the live rows are what the journal folds to (promises 6 and 7), one stream at a time, so
/// that memory does not grow with the journal.
enum ProjectionCheck {
  /// - Parameter isStopped: asked now and then; what was found by then is no whole answer.
  static func run(
    _ folder: DataFolder, _ journal: JournalReader, head: Int64, _ findings: Verify.Findings,
    until isStopped: () -> Bool
  ) throws(StoreError) -> Outcome {
    switch try live(folder, journal, head: head, findings) {
    case .nothing: return Outcome()
    case .ofAnotherFold(let path): return try ofAnotherFold(folder, path, findings)
    case .comparable(let path, let through):
      let rows = try ProjectionReader.open(folder, path: path)
      let count = try compare(rows, journal, findings, until: isStopped)
      guard !isStopped() else { return Outcome() }
      // Beside a running daemon both move on: then only what stands still can be counted.
      if try rows.foldedThrough() == through, try journal.head().seq == head, through <= head {
        let expected = try journal.streamCount(through: through)
        if expected != count { findings.add(7, nil, "\(count) rows for \(expected) streams") }
      }
      return Outcome(rows: count, digest: try digest(rows, findings))
    }
  }

  /// The rows of some streams alone.
  ///
  /// - Parameter keys: the streams by the journal.
  static func run(
    _ folder: DataFolder, _ journal: JournalReader, only: Verify.Only, _ keys: [StreamKey],
    _ findings: Verify.Findings
  ) throws(StoreError) -> Outcome {
    switch try live(folder, journal, head: try journal.head().seq, findings) {
    case .nothing: return Outcome()
    case .ofAnotherFold: return Outcome(isCompared: false)
    case .comparable(let path, _):
      let reader = try ProjectionReader.open(folder, path: path)
      try reader.beginSnapshot()
      let through = try reader.foldedThrough()
      let rows = try reader.rows(withOriginalTransactionId: only.originalTransactionId)
        .filter { only.covers($0.key) }
      reader.endSnapshot()
      for row in rows { try compare(row, through: through, journal, findings) }
      for key in keys where !rows.contains(where: { $0.key == key }) {
        let (state, broken) = try ProjectionFolder.refold(key, through: through, journal)
        if state.lastEvent != nil || broken != nil {
          findings.add(7, nil, "the row of a stream is missing")
        }
      }
      return Outcome(rows: Int64(rows.count))
    }
  }

  private enum Live {
    case nothing
    /// This program can fold them again; they go as far as this seq.
    case comparable(path: String, through: Int64)
    case ofAnotherFold(path: String)
  }

  /// What is live, once it is known to be of this journal.
  private static func live(
    _ folder: DataFolder, _ journal: JournalReader, head: Int64, _ findings: Verify.Findings
  ) throws(StoreError) -> Live {
    guard let name = try ProjectionList.read(folder).live else { return .nothing }
    let path = folder.projection(named: name)
    switch try ProjectionExaminer.condition(path, journal, onlyLookingAt: folder) {
    case .usable(let through): return .comparable(path: path, through: through)
    case .otherFold: return .ofAnotherFold(path: path)
    case .absent: break
    case .damaged, .unfinished:
      findings.add(7, nil, "the rows' file is damaged; start rebuilds it")
    case .otherJournal: findings.add(7, nil, "the rows are of another journal")
    case .ahead(let through):
      findings.add(
        1, head + 1, "the rows know events up to seq \(through): the journal's end is gone")
    case .diverged(let through):
      findings.add(5, through, "the rows were folded from another history")
    }
    return .nothing
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
    var digest = SetDigest()
    var (expected, found) = (TokenSum(), TokenSum())
    try rows.forEach { row in
      digest.add(row)
      expected.add(row)
      return true
    }
    try rows.forEachToken { found.add($0, $1, $2) }
    if found != expected {
      findings.add(7, nil, "the ids that rows are found by are not those of the rows")
    }
    if try rows.digest() != digest {
      findings.add(7, nil, "the rows' digest is not that of the rows")
    }
    return Hexadecimal.encode(digest.bytes)
  }

  private static func compare(
    _ rows: ProjectionReader, _ journal: JournalReader, _ findings: Verify.Findings,
    until isStopped: () -> Bool
  ) throws(StoreError) -> Int64 {
    var count: Int64 = 0
    var last: StreamKey?
    while true {
      // Rows and how far they go are of one moment, also while a daemon folds on.
      try rows.beginSnapshot()
      let through = try rows.foldedThrough()
      let piece = try rows.rows(after: last, limit: 500)
      rows.endSnapshot()
      for row in piece { try compare(row, through: through, journal, findings) }
      count += Int64(piece.count)
      guard let end = piece.last, !isStopped() else { return count }
      last = end.key
    }
  }

  private static func compare(
    _ row: ProjectedRow, through: Int64, _ journal: JournalReader, _ findings: Verify.Findings
  ) throws(StoreError) {
    let (state, broken) = try ProjectionFolder.refold(row.key, through: through, journal)
    if ProjectionFolder.row(row.key, state, broken) != row {
      findings.add(7, nil, "the row of a stream differs from its refold")
    }
    if let broken = row.broken { findings.add(9, nil, "a row could not be folded: \(broken)") }
  }
}
