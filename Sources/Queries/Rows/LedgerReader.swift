import AppStore
public import Entitlements
public import Ledger
public import Platform
public import Store

/// Reads entitlements, histories and quarantine: rows as of now from the live projection, rows as
/// of an earlier time from the journal.
///
/// A projection is disposable, so none of its faults makes a read of one customer fail: what cannot
/// be read from it is folded from the journal. Its damage is reported, for the writer to mend.
///
/// Each thread has a reader of its own, with its own read-only connections. A reader of a running
/// ledger follows every switch of the live projection.
public final class LedgerReader {
  /// A projection that is open.
  struct Opened {
    let reader: ProjectionReader
    let generation: Int
    /// Whether this program's fold made it: otherwise it only answers lists.
    let isOwn: Bool
    let foldVersion: Int
  }

  public let journal: JournalReader
  /// How long non-renewing products last now.
  private let durationsNow: @Sendable () -> AppDurations
  /// Proves the receipts in version 1 notifications for `history`; nil if they are not to be
  /// proven.
  public var receipts: ReceiptProof?
  /// What long reads ask whether they may go on; nil: they always may.
  package let limit: WorkLimit?
  let source: Source
  /// The projection that was opened last.
  private var opened: Opened?
  /// Whether that has every answered event, as of the last call of `readable`.
  private(set) var isFollowing = false
  /// The streams that have later events than the projection, as lists show them.
  let laterStreams = LaterStreams()
  /// What `rows(around:of:at:)` folded last.
  let folds: StreamFolds
  /// Bytes that are kept of it, usually and by a passing reader.
  private static let (foldedBytes, passingFoldedBytes) = (2_000_000, 20_000_000)
  /// The mappings of products to names that were read.
  private var knownMappings: [StoredStatement] = []
  /// The catalog in force that the last question about now was answered with, and of which last
  /// mapping, environment and configured catalog it was made.
  var keptCatalog: (of: (Int64, Environment, EntitlementCatalog), catalog: EntitlementCatalog)?
  private var hasSnapshot = false

  /// Where the projection is found: in the running ledger of this process, or in a data folder.
  enum Source {
    case running(LiveProjection)
    /// `rows` is the file of a projection of this fold; nil for the one that the folder has.
    case atRest(DataFolder, rows: String?)
  }

  /// A reader of the running ledger of this process.
  ///
  /// - Parameters:
  ///   - isPassing: for a reader that goes from one event of the journal to the next: it keeps more
  ///     of the streams that `rows(around:of:at:)` folded, and less of the file.
  ///   - limit: what long reads ask whether they may go on; they throw its reason if not.
  /// - Throws: what `JournalReader.open` throws.
  public init(
    _ ledger: Ledger, isPassing: Bool = false, limit: WorkLimit? = nil
  ) throws(LedgerError) {
    journal = try JournalReader.open(ledger.folder, isPassing: isPassing)
    limit.map(journal.ask)
    self.limit = limit
    folds = StreamFolds(capacity: isPassing ? Self.passingFoldedBytes : Self.foldedBytes)
    durationsNow = { ledger.durations }
    source = .running(ledger.liveProjection)
  }

  /// A reader of a data folder, whether or not another process has it open.
  ///
  /// - Parameters:
  ///   - durations: the configured ones; they count for apps of which none were put in force.
  ///   - rows: the file of a projection of this fold that was built; nil for the live one.
  /// - Throws: what `JournalReader.open` throws.
  public init(
    _ folder: DataFolder, durations: Durations, rows: String? = nil
  ) throws(LedgerError) {
    journal = try JournalReader.open(folder)
    let durations = try journal.durations(configured: durations)
    limit = nil
    folds = StreamFolds(capacity: Self.foldedBytes)
    durationsNow = { durations }
    source = .atRest(folder, rows: rows)
  }

  /// How long non-renewing products last, by what is known now.
  package var durations: AppDurations { durationsNow() }

  /// How long they last, by what was known at the time of a question.
  func durations(_ question: Question) -> AppDurations {
    question.knownAt.map(durations.known) ?? durations
  }

  // MARK: The live projection

  /// The projection that can be read now; nil if there is none. Opened again after a switch.
  func readable() -> Opened? {
    switch source {
    case .running(let projection):
      // The state first: what was committed before it began to follow is counted by then.
      let current = projection.current
      isFollowing = current.state == .following
      if let opened, opened.generation == current.generation { return opened }
      endSnapshot()
      opened = nil
      guard let file = current.readable else { return nil }
      do throws(LedgerError) {
        let found = try open(
          projection.folder, file.path, generation: current.generation, isOwn: file.isOwn)
        // After it was opened: otherwise another file could be opened that replaced it.
        try file.requireInPlace()
        opened = found
      } catch {
        if error.isDamage { projection.reportDamage(current.generation, error) }
      }
    case .atRest(let folder, let rows):
      guard opened == nil else { return opened }
      if let rows {
        opened = try? open(folder, rows, generation: 0, isOwn: true)
        return opened
      }
      switch try? ProjectionChoice.find(folder, journal, isReading: true) {
      case .own(let path): opened = try? open(folder, path, generation: 0, isOwn: true)
      case .other(let path): opened = try? open(folder, path, generation: 0, isOwn: false)
      default: break
      }
    }
    return opened
  }

  private func open(
    _ folder: DataFolder, _ path: String, generation: Int, isOwn: Bool
  ) throws(LedgerError) -> Opened {
    let reader = try ProjectionReader.open(folder, path: path)
    limit.map(reader.ask)
    return Opened(
      reader: reader, generation: generation, isOwn: isOwn,
      foldVersion: try reader.identity().foldVersion)
  }

  /// Why there is nothing to read.
  var state: ProjectionState {
    if case .running(let projection) = source { projection.state } else { .absent }
  }

  /// Whether a stream may have named this id as its predecessor. While the projection follows, all
  /// names are in memory, and nearly no stream has one: that saves a query of each row.
  func maySucceed(_ originalTransactionId: String) -> Bool {
    guard isFollowing, case .running(let projection) = source else { return true }
    return projection.successors.mayKnow(originalTransactionId)
  }

  /// When Apple last confirmed what the journal says of a stream, by the times of the question.
  ///
  /// - Throws: what SQLite reports.
  func confirmedAt(_ key: StreamKey, _ question: Question) throws(LedgerError) -> Int64? {
    if case .running(let projection) = source, !projection.holdsEvidence { return nil }
    return try journal.confirmedAt(
      key, signedThrough: question.signedThrough, receivedThrough: question.knownAt ?? .max)
  }

  /// Whether the journal may have statements about customers. While a daemon runs, it knows.
  var mayHaveStatements: Bool {
    guard case .running(let projection) = source else { return true }
    return projection.hasStatements
  }

  /// All mappings of products to names, in order of seq.
  ///
  /// - Throws: what SQLite reports.
  func mappings() throws(LedgerError) -> [StoredStatement] {
    let last = knownMappings.last?.seq ?? 0
    if case .running(let projection) = source, projection.lastMapping <= last {
      return knownMappings
    }
    knownMappings += try journal.mappings(after: last)
    return knownMappings
  }

  /// What Apple said again, by app: as `JournalReader.confirmations`.
  ///
  /// - Throws: what SQLite reports.
  func confirmations(
    since time: Int64
  ) throws(LedgerError) -> [ProjectionReader.Counts.App: JournalReader.Confirmations] {
    if case .running(let projection) = source, !projection.holdsEvidence { return [:] }
    return try journal.confirmations(since: time)
  }

  /// Streams that have named this id as their predecessor since the process started, and before as
  /// far as that is known.
  func knownSuccessors(of originalTransactionId: String) -> Set<StreamKey> {
    guard case .running(let projection) = source else { return [] }
    return projection.successors.of(originalTransactionId)
  }

  /// The projection that is read.
  ///
  /// - Throws: `LedgerError.notReady` if there is none.
  package func projection() throws(LedgerError) -> ProjectionReader {
    guard let opened = readable() else { throw .notReady(state) }
    return opened.reader
  }

  /// `SetDigest` of the projection that is read, in lower-case hexadecimal, as far as it is folded;
  /// nil if it has none.
  ///
  /// - Throws: `LedgerError.notReady` if no projection can be read.
  public func digest() throws(LedgerError) -> String? {
    let projection = try projection()
    return rows { () throws(LedgerError) in
      try projection.digest().map { Hexadecimal.encode($0.bytes) }
    } ?? nil
  }

  /// The last seq in the projection that is read.
  ///
  /// - Throws: `LedgerError.notReady` if no projection can be read.
  public func foldedThrough() throws(LedgerError) -> Int64 {
    let projection = try projection()
    guard let seq = rows({ () throws(LedgerError) in try projection.foldedThrough() }) else {
      throw .notReady(state)
    }
    return seq
  }

  // MARK: Snapshots

  /// Begins a snapshot of the open projection unless one is open.
  ///
  /// - Throws: what SQLite reports.
  func beginSnapshot() throws(LedgerError) {
    guard !hasSnapshot, let opened else { return }
    try opened.reader.beginSnapshot()
    hasSnapshot = true
  }

  /// Ends the open snapshot, if any. Every question that begins one ends it: the next must see what
  /// was answered in between (promise 1), and behind an open one the -wal of the projection grows.
  func endSnapshot() {
    guard hasSnapshot else { return }
    hasSnapshot = false
    opened?.reader.endSnapshot()
  }

  // MARK: Errors

  /// Runs a read of the open projection. Returns nil if it failed: the caller then asks the
  /// journal. Damage is reported, and the file is not read again.
  func rows<Value>(_ read: () throws(LedgerError) -> Value) -> Value? {
    do throws(LedgerError) {
      return try read()
    } catch {
      // SQLite may have rolled the transaction back (sqlite.org/lang_transaction.html).
      endSnapshot()
      if case .running(let projection) = source, let opened, error.isDamage {
        projection.reportDamage(opened.generation, error)
      }
      return nil
    }
  }
}

extension LedgerError.Code {
  /// No row can be read for a list; `detail` is the projection's state.
  public static let notReady = Self("rows_not_ready")
  /// Two apps have this original transaction id, and the question names neither.
  public static let ambiguous = Self("ambiguous")
}

extension LedgerError {
  /// No row can be read for a list: the projection is in this state. Where no daemon runs, nothing
  /// is being built.
  static func notReady(_ state: ProjectionState) -> LedgerError {
    let isAbsent = state == .absent
    return LedgerError(
      .notReady, .temporary,
      isAbsent ? "there are no rows that can be read" : "the projection is being built",
      next: isAbsent
        ? "start `subledger serve`, or run `subledger rebuild --apply`" : "try again",
      detail: state.rawValue)
  }

  /// Two apps have this original transaction id, and the question names neither.
  public static let ambiguous = LedgerError(
    .ambiguous, .usage, "two apps have this id", next: "choose one with --bundle-id ID")
}
