import AppStore
import Encoding
public import JournalStore
public import LedgerEngine

/// Reads entitlements, histories and quarantine: rows as of now from the live projection, rows as
/// of an earlier time from the journal.
///
/// Each thread has a reader of its own, with its own read-only connections. A reader of a running
/// ledger follows every switch of the live projection.
public final class LedgerReader {
  public enum Failure: Error, Sendable {
    /// The projection is being built for the first time, or cannot be written.
    case notReady
    /// Two apps have this original transaction id, and the question names neither.
    case ambiguous
    case store(StoreError)
  }

  public let journal: JournalReader
  /// Milliseconds that non-renewing products last, by product id.
  let durations: [String: Int64]
  private let source: Source
  /// The projection that was opened last.
  private(set) var live: LiveProjection.Opened?
  /// Whether a snapshot of the projection serves several questions, until `endSnapshot`.
  let reusesSnapshot: Bool
  /// `LiveProjection.commits` when the open snapshot was begun; nil if none is open.
  private var snapshot: Int?

  /// Where the projection is found: in the running ledger of this process, or in a data folder.
  private enum Source {
    case running(LiveProjection)
    case atRest(DataFolder)
  }

  /// A reader of the running ledger of this process.
  ///
  /// - Parameter reusesSnapshot: whether a snapshot stays open for the next question. The caller
  ///   must then call `endSnapshot` before it waits for anything. Saves the file locks of a
  ///   snapshot, which cost as much as reading a row.
  /// - Throws: what `JournalReader.open` throws.
  public init(
    _ ledger: Ledger, durations: [String: Int64], reusesSnapshot: Bool = false
  ) throws(StoreError) {
    journal = try JournalReader.open(ledger.folder)
    self.durations = durations
    source = .running(ledger.liveProjection)
    self.reusesSnapshot = reusesSnapshot
  }

  /// A reader of a data folder, whether or not another process has it open.
  ///
  /// - Throws: what `JournalReader.open` throws.
  public init(_ folder: DataFolder, durations: [String: Int64]) throws(StoreError) {
    journal = try JournalReader.open(folder)
    self.durations = durations
    source = .atRest(folder)
    reusesSnapshot = false
  }

  // MARK: The live projection

  /// The live projection; opened again after a switch.
  ///
  /// - Throws: `Failure.notReady` while the projection is built for the first time;
  ///   `Failure.store(.foreign)` if the folder's projection does not belong to its journal.
  public func projection() throws(Failure) -> ProjectionReader {
    do throws(StoreError) {
      switch source {
      case .running(let projection):
        if snapshot != projection.commits { endSnapshot() }
        if let live, live.generation == projection.generation { return live.reader }
        endSnapshot()
        live = try projection.open()
      case .atRest(let folder):
        if live == nil {
          let reader = try ProjectionReader.open(folder)
          try check(reader)
          live = LiveProjection.Opened(reader: reader, generation: 0, isMaintained: false)
        }
      }
    } catch {
      throw .store(error)
    }
    guard let live else { throw .notReady }
    return live.reader
  }

  /// Refuses a projection at rest that the daemon would discard at its start: one of another
  /// journal, or one that is ahead of this journal.
  private func check(_ projection: ProjectionReader) throws(StoreError) {
    try projection.beginSnapshot()
    defer { projection.endSnapshot() }
    guard try projection.identity().journalId == journal.journalId(),
      try journal.hash(at: try projection.foldedThrough()) == projection.foldedHash()
    else {
      throw .foreign(
        "the projection is not of this journal in its present state; "
          + "run `subledger rebuild --apply`, or start the daemon")
    }
  }

  /// `SetDigest` of the live projection in lower-case hexadecimal, as far as it is folded; nil if
  /// the projection has none.
  ///
  /// - Throws: as `projection`, and `Failure.store` if the file cannot be read.
  public func digest() throws(Failure) -> String? {
    let projection = try projection()
    return try store { () throws(StoreError) in
      try projection.digest().map { Hexadecimal.encode($0.bytes) }
    }
  }

  /// The last seq in the live projection.
  ///
  /// - Throws: as `projection`, and `Failure.store` if the file cannot be read.
  public func foldedThrough() throws(Failure) -> Int64 {
    let projection = try projection()
    return try store { () throws(StoreError) in try projection.foldedThrough() }
  }

  /// Whether the journal has events of a stream that its row lacks. Possible where the writer does
  /// not fold into the live projection: if another fold made it, or while no daemon runs.
  ///
  /// Asks the projection that the row was read from, even if another one is live by now.
  func isBehind(_ key: StreamKey) throws(Failure) -> Bool {
    guard let live, !live.isMaintained else { return false }
    return try store { () throws(StoreError) in
      try journal.hasEvents(of: key, after: try live.reader.foldedThrough())
    }
  }

  // MARK: Snapshots

  /// Begins a snapshot unless one is open; `projection` has already closed a snapshot older than
  /// the last commit.
  func beginSnapshot() throws(Failure) {
    guard snapshot == nil, let live else { return }
    var commits = 0
    // Read before the snapshot begins: if a commit comes in between, the snapshot has more than
    // this number says, never less.
    if case .running(let projection) = source { commits = projection.commits }
    try store { () throws(StoreError) in try live.reader.beginSnapshot() }
    snapshot = commits
  }

  /// Ends the open snapshot, if any. Must be called before the thread waits for anything: while a
  /// snapshot is open, the projection's -wal file cannot be restarted and grows.
  public func endSnapshot() {
    guard snapshot != nil else { return }
    snapshot = nil
    live?.reader.endSnapshot()
  }

  /// Runs a read of the store, and ends the snapshot if it fails.
  func store<Value>(_ read: () throws(StoreError) -> Value) throws(Failure) -> Value {
    do throws(StoreError) {
      return try read()
    } catch {
      // SQLite may have rolled the transaction back (sqlite.org/lang_transaction.html).
      endSnapshot()
      throw .store(error)
    }
  }
}
