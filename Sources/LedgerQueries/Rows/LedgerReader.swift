import Encoding
public import Entitlements
public import JournalStore
public import LedgerEngine

/// Answers questions about customers, for one thread: rows from the live projection, moments of
/// the past from the journal.
public final class LedgerReader {
  /// Who is asked for: at what moment, and what the asker may see.
  public struct Question: Sendable {
    /// Evaluate at this time, folding only what Apple had signed by then, ms; nil: now, all of it.
    public var asOf: Int64?
    /// Fold only what we had received by then, ms.
    public var knownAt: Int64?
    /// Our clock, ms.
    public var now: Int64
    /// Whether rows of this key may be shown; what may not is as if it were not there.
    public var covers: @Sendable (StreamKey) -> Bool

    public init(
      asOf: Int64? = nil, knownAt: Int64? = nil, now: Int64,
      covers: @escaping @Sendable (StreamKey) -> Bool = { _ in true }
    ) {
      self.asOf = asOf
      self.knownAt = knownAt
      self.now = now
      self.covers = covers
    }

    var time: Int64 { asOf ?? knownAt ?? now }
    var isAboutThePast: Bool { asOf != nil || knownAt != nil }
  }

  public enum Failure: Error, Sendable {
    /// Rows are being built for the first time, or cannot be written.
    case notReady
    /// Two apps have this original transaction id: say which.
    case ambiguous
    case store(StoreError)
  }

  public let journal: JournalReader
  let durations: [String: Int64]
  private let source: Source
  private var live: LiveProjection.Opened?
  /// Whether a snapshot of rows outlives the question it was begun for.
  private let isInRounds: Bool
  /// `LiveProjection.commits` when the snapshot that is open was begun; nil where none is.
  private var snapshot: Int?

  /// Where rows come from: the running ledger of this process, or the files of a folder.
  private enum Source {
    case running(LiveProjection)
    case atRest(DataFolder)
  }

  /// A reader beside the running ledger of this process.
  ///
  /// - Parameter isInRounds: many questions follow each other, and `eventLoopIterationEnded` is
  ///   called after them: the locks of a snapshot cost as much as a row does.
  public init(
    _ ledger: Ledger, durations: [String: Int64], isInRounds: Bool = false
  ) throws(StoreError) {
    journal = try JournalReader.open(ledger.folder)
    self.durations = durations
    source = .running(ledger.rows)
    self.isInRounds = isInRounds
  }

  /// A reader of a folder, whether another process runs on it or none.
  public init(_ folder: DataFolder, durations: [String: Int64]) throws(StoreError) {
    journal = try JournalReader.open(folder)
    self.durations = durations
    source = .atRest(folder)
    isInRounds = false
  }

  /// The live projection, opened anew after a switch.
  public func rows() throws(Failure) -> ProjectionReader {
    do throws(StoreError) {
      switch source {
      case .running(let rows):
        if snapshot != rows.commits { eventLoopIterationEnded() }
        if let live, live.generation == rows.current { return live.reader }
        eventLoopIterationEnded()
        live = try rows.open()
      case .atRest(let folder):
        if live == nil {
          let reader = try ProjectionReader.open(folder)
          try check(reader)
          live = LiveProjection.Opened(reader: reader, generation: 0, isFollowed: false)
        }
      }
    } catch {
      throw .store(error)
    }
    guard let live else { throw .notReady }
    return live.reader
  }

  /// What a daemon puts aside at its start says nothing at rest either: rows of another journal, or
  /// of more than this one has.
  private func check(_ rows: ProjectionReader) throws(StoreError) {
    try rows.beginSnapshot()
    defer { rows.endSnapshot() }
    guard try rows.identity().journalId == journal.journalId(),
      try journal.hash(at: try rows.foldedThrough()) == rows.foldedHash()
    else {
      throw .foreign(
        "the rows are not of this journal as it is; "
          + "run `subledger rebuild --apply`, or start the daemon")
    }
  }

  /// `SetDigest` of the live rows in lower-case hexadecimal, as far as they are folded.
  public func digest() throws(Failure) -> String? {
    let rows = try rows()
    return try store { () throws(StoreError) in
      try rows.digest().map { Hexadecimal.encode($0.bytes) }
    }
  }

  /// The last seq in the live rows.
  public func foldedThrough() throws(Failure) -> Int64 {
    let rows = try rows()
    return try store { () throws(StoreError) in try rows.foldedThrough() }
  }

  /// Whether events of a stream came after the rows were folded: nobody folds into rows of another
  /// fold, nor into any while no daemon runs. Such a stream is answered from the journal.
  ///
  /// Asks of the projection the row came from, also where another one is live by now.
  private func isBehind(_ key: StreamKey) throws(Failure) -> Bool {
    guard let live, !live.isFollowed else { return false }
    return try store { () throws(StoreError) in
      try journal.hasEvents(of: key, after: try live.reader.foldedThrough())
    }
  }

  /// Where none is open: `rows` ended one that lacks something that was answered since.
  private func beginSnapshot() throws(Failure) {
    guard snapshot == nil, let live else { return }
    var commits = 0
    // Before the rows are looked at: of what comes in between there may be more in it, not less.
    if case .running(let rows) = source { commits = rows.commits }
    try store { () throws(StoreError) in try live.reader.beginSnapshot() }
    snapshot = commits
  }

  /// Lets go of what was kept for the next question. To be called before anything is waited for: a
  /// snapshot keeps the rows' -wal from being begun anew.
  public func eventLoopIterationEnded() {
    guard snapshot != nil else { return }
    snapshot = nil
    live?.reader.endSnapshot()
  }

  // MARK: One customer

  /// The row of an original transaction id; nil where there is none that may be shown.
  public func entitlement(
    _ originalTransactionId: String, environment: String, bundleId: String?,
    _ question: Question
  ) throws(Failure) -> RowDocument? {
    // One projection for one answer, whatever is switched meanwhile.
    let rows = try rows()
    if question.isAboutThePast {
      let keys = try keys(originalTransactionId, environment, bundleId, question)
      guard let key = try Self.only(keys) else { return nil }
      return try document(key, try pastRow(of: key, question), question)
    }
    // The row and who succeeds it are of one state.
    try beginSnapshot()
    defer { if !isInRounds { eventLoopIterationEnded() } }
    let all = try store { () throws(StoreError) in
      try rows.rows(withOriginalTransactionId: originalTransactionId)
    }
    let found = all.filter { Self.isAskedFor($0.key, environment, bundleId, question) }
    if let row = try Self.only(found) { return try document(row, question) }
    guard let live, !live.isFollowed else { return nil }
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    return try document(key, try pastRow(of: key, question), question)
  }

  /// The streams of an original transaction id that may be shown, by the journal.
  func keys(
    _ originalTransactionId: String, _ environment: String?, _ bundleId: String?,
    _ question: Question
  ) throws(Failure) -> [StreamKey] {
    let all = try store { () throws(StoreError) in
      try journal.streams(withOriginalTransactionId: originalTransactionId)
    }
    return all.filter { Self.isAskedFor($0, environment, bundleId, question) }
  }

  private static func isAskedFor(
    _ key: StreamKey, _ environment: String?, _ bundleId: String?, _ question: Question
  ) -> Bool {
    (environment.map { $0 == key.environment } ?? true)
      && (bundleId.map { $0 == key.bundleId } ?? true) && question.covers(key)
  }

  /// The only one of several; nil of none.
  static func only<Element>(_ found: [Element]) throws(Failure) -> Element? {
    guard found.count <= 1 else { throw .ambiguous }
    return found.first
  }

  private func document(
    _ row: ProjectedRow, _ question: Question
  ) throws(Failure) -> RowDocument? {
    try document(row.key, try self.row(row, question), question)
  }

  func document(
    _ key: StreamKey, _ row: EntitlementRow, _ question: Question
  ) throws(Failure) -> RowDocument? {
    guard let entitlement = row.entitlement(at: question.time, durations: durations) else {
      return nil
    }
    return RowDocument(
      key: key, entitlement: entitlement, eventCount: row.eventCount, lastEvent: row.lastEvent,
      succeededBy: try successor(of: key, question), knownAt: question.knownAt)
  }

  /// Rows are never trusted over the journal: of damaged bytes, and of streams of which something
  /// came since, the journal is asked.
  private func row(_ row: ProjectedRow, _ question: Question) throws(Failure) -> EntitlementRow {
    guard try !isBehind(row.key),
      let known = EntitlementRow(decoding: row.state, lastSeq: row.lastSeq)
    else { return try pastRow(of: row.key, question) }
    return known
  }

  /// From the journal. A row that could not be folded whole is shown and marked, as in a
  /// projection; an answer about the past that lacks an event is none.
  private func pastRow(
    of key: StreamKey, _ question: Question
  ) throws(Failure) -> EntitlementRow {
    try store { () throws(StoreError) in
      var state = StreamState()
      try journal.forEachPayload(
        of: key, signedThrough: question.asOf ?? .max, receivedThrough: question.knownAt ?? .max
      ) { (payload) throws(StoreError) in
        if let step = try? JournaledNotification.foldEvent(payload) {
          state.evolve(step)
        } else if question.isAboutThePast {
          throw .corrupt("the body of seq \(payload.seq)")
        }
      }
      return EntitlementRow(state)
    }
  }

  /// The stream that names this one as its former self; of several, the one Apple signed last.
  private func successor(of key: StreamKey, _ question: Question) throws(Failure) -> String? {
    let rows: ProjectionReader
    if let live { rows = live.reader } else { rows = try self.rows() }
    let candidates = try store { () throws(StoreError) in
      try rows.rows(withPreviousOriginalTransactionId: key.originalTransactionId)
    }
    var newest: (signed: Int64, id: String)?
    for candidate in candidates
    where candidate.key.environment == key.environment && candidate.key.bundleId == key.bundleId {
      let row =
        question.isAboutThePast
        ? try pastRow(of: candidate.key, question) : try self.row(candidate, question)
      guard row.previousOriginalTransactionId == key.originalTransactionId,
        let signed = row.lastEvent?.signedDate
      else { continue }
      let found = (signed, candidate.key.originalTransactionId)
      if newest.map({ $0 < found }) ?? true { newest = found }
    }
    return newest?.id
  }

  // MARK: Lists

  /// Which rows to list.
  public struct Filter: Sendable {
    public var appAccountToken: String?
    public var appTransactionId: String?
    public var productId: String?
    public var status: Entitlement.Status?
    public var environment: String?
    public var bundleId: String?

    public init() {}

    /// The names of all statuses.
    public static let statuses = Entitlement.Status.allCases.map(\.rawValue)

    /// By the status's name; false where there is no such status.
    public mutating func setStatus(_ name: String) -> Bool {
      status = Entitlement.Status(rawValue: name)
      return status != nil
    }
  }

  /// Rows looked at for one page at most: a filter that matches little must not hold a thread.
  private static let scanLimit = 5000

  /// Up to `limit` rows in key order after a key, and where to go on; nil at the end.
  public func list(
    _ filter: Filter, after: StreamKey?, limit: Int, _ question: Question
  ) throws(Failure) -> (rows: [RowDocument], next: StreamKey?) {
    let projection = try rows()
    var found: [RowDocument] = []
    var last = after
    var looks = 0
    while found.count < limit, looks < Self.scanLimit {
      let (start, wanted) = (last, min(500, max(50, limit - found.count)))
      let piece = try store { () throws(StoreError) in
        if let token = filter.appAccountToken {
          return try projection.rows(withAppAccountToken: token, after: start, limit: wanted)
        }
        if let id = filter.appTransactionId {
          return try projection.rows(withAppTransactionId: id, after: start, limit: wanted)
        }
        return try projection.rows(after: start, limit: wanted)
      }
      guard !piece.isEmpty else { return (found, nil) }
      for row in piece {
        looks += 1
        last = row.key
        if let document = try match(row, filter, question) { found.append(document) }
        if found.count == limit { break }
      }
    }
    return (found, last)
  }

  private func match(
    _ row: ProjectedRow, _ filter: Filter, _ question: Question
  ) throws(Failure) -> RowDocument? {
    guard question.covers(row.key),
      filter.environment ?? row.key.environment == row.key.environment,
      filter.bundleId ?? row.key.bundleId == row.key.bundleId,
      let document = try document(row, question)
    else { return nil }
    if let product = filter.productId, document.entitlement.productId != product { return nil }
    if let status = filter.status, document.entitlement.status != status { return nil }
    return document
  }

  func store<Value>(_ read: () throws(StoreError) -> Value) throws(Failure) -> Value {
    do throws(StoreError) {
      return try read()
    } catch {
      // SQLite may have ended it (sqlite.org/lang_transaction.html).
      eventLoopIterationEnded()
      throw .store(error)
    }
  }
}
