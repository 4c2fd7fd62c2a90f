import AppStore
import Entitlements
import Ledger
import Platform
import Store

/// Checks that the live projection is what the journal folds to (promises 6 and 7), one stream at a
/// time, so that memory does not grow with the journal.
enum ProjectionCheck {
  /// Checks the whole projection.
  static func run(_ journal: JournalReader, _ run: CheckRun) throws(LedgerError) {
    let head = try journal.head().seq
    switch try live(journal, head: head, run) {
    case .none: return
    case .otherFold(let path): try countOnly(path, run)
    case .comparable(let path, let through):
      let projection = try ProjectionReader.open(run.folder, path: path)
      let count = try compare(projection, journal, run)
      guard !run.isStopped else { return }
      // A running daemon appends and folds meanwhile; the counts are only comparable if it did not.
      if try projection.foldedThrough() == through, try journal.head().seq == head,
        through <= head
      {
        let expected = try journal.streamCount(through: through)
        if expected != count { run.add(7, nil, "\(count) rows for \(expected) streams") }
      }
      try note(count, projection, run)
    }
  }

  /// Checks the rows of some streams alone.
  static func run(
    _ journal: JournalReader, only: Verify.Only, _ run: CheckRun
  ) throws(LedgerError) {
    switch try live(journal, head: try journal.head().seq, run) {
    case .none: return
    case .otherFold: run.report { $0.comparesProjection = false }
    case .comparable(let path, _):
      let reader = try ProjectionReader.open(run.folder, path: path)
      try reader.beginSnapshot()
      let through = try reader.foldedThrough()
      let rows = try reader.streams(withOriginalTransactionId: only.originalTransactionId)
        .filter { only.covers($0.key) }
      reader.endSnapshot()
      for row in rows { try compare(row, through: through, journal, run) }
      for key in try only.streams(journal) where !rows.contains(where: { $0.key == key }) {
        let stream = try ProjectionFolder.refolded(key, through: through, journal)
        if stream.row.lastEvent != nil || stream.broken != nil {
          run.add(7, nil, "the row of a stream is missing")
        }
      }
      run.report { $0.rows = Int64(rows.count) }
    }
  }

  private enum Live {
    case none
    /// This program can fold its rows again; it is folded through this seq.
    case comparable(path: String, through: Int64)
    /// Only the program that made it can fold its rows again.
    case otherFold(path: String)
  }

  /// The live projection, if it can be read and is of this journal; a finding otherwise.
  private static func live(
    _ journal: JournalReader, head: Int64, _ run: CheckRun
  ) throws(LedgerError) -> Live {
    let folder = run.folder
    let path: String
    switch try ProjectionChoice.find(folder, journal, isReading: true) {
    case .own(let found), .other(let found): path = found
    case .none:
      guard let name = try ProjectionList.read(folder).live else { return .none }
      path = folder.projection(named: name)
    }
    switch try ProjectionChoice.condition(path, journal, readOnlyIn: folder) {
    case .usable(let through): return .comparable(path: path, through: through)
    case .otherFold: return .otherFold(path: path)
    case .absent, .otherLayout: break
    case .damaged, .unfinished:
      run.add(7, nil, "the projection is damaged; the daemon rebuilds it when it starts")
    case .otherJournal: run.add(7, nil, "the projection is of another journal")
    case .ahead(let through):
      run.add(
        1, head + 1,
        "the projection has events up to seq \(through): the journal's end is gone")
    case .diverged(let through):
      run.add(5, through, "the projection was folded from another history")
    }
    return .none
  }

  /// Counts the rows of another fold, and checks their digest.
  private static func countOnly(_ path: String, _ run: CheckRun) throws(LedgerError) {
    let projection = try ProjectionReader.open(run.folder, path: path)
    run.report { $0.comparesProjection = false }
    try note(try projection.count(), projection, run)
  }

  private static func note(
    _ rows: Int64, _ projection: ProjectionReader, _ run: CheckRun
  ) throws(LedgerError) {
    let digest = try digest(projection, run)
    run.report { ($0.rows, $0.digest) = (rows, digest) }
  }

  /// Computes the digest from the rows, and compares it with the stored one. The indexes that
  /// rows are looked up by are compared with the rows in the same pass.
  private static func digest(
    _ projection: ProjectionReader, _ run: CheckRun
  ) throws(LedgerError) -> String {
    try projection.beginSnapshot()
    defer { projection.endSnapshot() }
    var (digest, expected, found) = (SetDigest(), SetDigest(), SetDigest())
    try projection.forEach { row in
      digest.add(row)
      for (kind, values) in row.indexed.enumerated() {
        // By bytes: `String` calls two spellings of a letter equal, the index does not.
        for entry in Set(values.map { indexEntry(kind, $0, row.key) }) {
          expected.add(element: entry)
        }
      }
      return true
    }
    try projection.forEachIndexEntry { found.add(element: indexEntry($0, $1, $2)) }
    if found != expected {
      run.add(7, nil, "the index that rows are looked up by does not match the rows")
    }
    if try projection.digest() != digest {
      run.add(7, nil, "the stored digest is not that of the rows")
    }
    return Hexadecimal.encode(digest.bytes)
  }

  /// An entry of the index as bytes: the kind, then the value and the parts of the row's key, each
  /// after its length.
  ///
  /// - Parameter kind: the index of the value's list in `FoldedStream.indexed`.
  private static func indexEntry(_ kind: Int, _ value: String, _ key: StreamKey?) -> [UInt8] {
    let parts = [
      value, key?.environment.rawValue ?? "", key?.bundleId ?? "", key?.originalTransactionId ?? "",
    ]
    var bytes = [UInt8(truncatingIfNeeded: kind)]
    for part in parts {
      withUnsafeBytes(of: part.utf8.count.bigEndian) { bytes.append(contentsOf: $0) }
      bytes += part.utf8
    }
    return bytes
  }

  private static func compare(
    _ projection: ProjectionReader, _ journal: JournalReader, _ run: CheckRun
  ) throws(LedgerError) -> Int64 {
    var count: Int64 = 0
    var last: StreamKey?
    while true {
      // One snapshot for `folded_through` and the rows, because a daemon may fold meanwhile.
      try projection.beginSnapshot()
      let through = try projection.foldedThrough()
      let page = try projection.streams(after: last, limit: 500)
      projection.endSnapshot()
      for row in page {
        try compare(row, through: through, journal, run)
        // One state of the file for all indexes, because a daemon may fold meanwhile.
        try projection.beginSnapshot()
        defer { projection.endSnapshot() }
        _ = try projection.isIndexed(row.key)
      }
      count += Int64(page.count)
      guard let end = page.last, !run.isStopped else { return count }
      last = end.key
    }
  }

  private static func compare(
    _ row: FoldedStream, through: Int64, _ journal: JournalReader, _ run: CheckRun
  ) throws(LedgerError) {
    if try ProjectionFolder.refolded(row.key, through: through, journal) != row {
      run.add(7, nil, "the row of a stream differs from its refold")
    }
    if !AmountCheck.isRight(row) {
      run.add(7, nil, "the amounts of a stream are not those of its transactions")
    }
    if let broken = row.broken { run.add(9, nil, "a row could not be folded: \(broken)") }
  }
}

extension Check {
  /// What customers have by name, where a daemon keeps it (promise 7).
  static let customers = Check(7, reads: "customers.sqlite") { (_, run) throws(LedgerError) in
    do throws(LedgerError) {
      guard try CustomerStore.isSound(run.folder) == false else { return }
    } catch {
      // A folder in its place, say: the file is disposable.
      guard error.isDamage || error.code == .io, error.code != .newer else { throw error }
    }
    run.add(
      7, nil, "what customers have by name is not what the daemon wrote; it mends customers.sqlite")
  }

  static let projection = Check(7, reads: "the projection") { (journal, run) throws(LedgerError) in
    try ProjectionCheck.run(journal, run)
  }
}
