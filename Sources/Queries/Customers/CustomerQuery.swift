public import AppStore
public import Entitlements
import Ledger
public import Platform
import Store

/// Entitlements by name: everything that is known of one customer.
extension LedgerReader {
  /// Which customer is asked about, and which entitlements.
  public struct CustomerQuestion: Sendable {
    /// What the id is.
    public enum IdKind: String, Sendable, CaseIterable {
      case appAccountToken = "app_account_token"
      case appTransactionId = "app_transaction_id"
      /// The owner's own id of a user, who claimed his purchases.
      case account
      case originalTransactionId = "original_transaction_id"
    }

    /// The customer as statements of the owner name him.
    var customer: CustomerName? {
      CustomerName.Kind(rawValue: kind.rawValue).map { CustomerName($0, id) }
    }

    var id: String
    var kind: IdKind
    var environment: Environment
    /// Only rows of this app; nil for all.
    var bundleId: String?
    /// As configured.
    var catalog: EntitlementCatalog
    /// The apps whose entitlements are answered.
    let apps: [String]
    /// Whether a question about the past is answered by today's mapping of products.
    public var usesPresentMapping = false
    /// The entitlements that are answered, in their order.
    fileprivate(set) var names: [String] = []
    /// Whether a purchase that is another customer's, by `CustomerKey`, counts for nothing.
    var countsOwnAlone = false
    /// How many rows are read, consumables last: they give no entitlement.
    public var maximumRows = LedgerReader.maximumRows

    /// - Parameter id: as the owner wrote it. Account tokens are UUIDs, and Apple writes them in
    ///   lower case.
    public init(
      _ id: String, _ kind: IdKind, _ environment: Environment, bundleId: String?,
      _ catalog: EntitlementCatalog, apps: [String]
    ) {
      self.id = kind == .appAccountToken ? id.lowercased() : id
      self.kind = kind
      self.environment = environment
      self.bundleId = bundleId
      self.catalog = catalog
      self.apps = apps
    }
  }

  /// How many rows of one customer are read, unless the question says less.
  package static let maximumRows = 1000

  /// What a customer may use, and the rows that say so.
  ///
  /// A row that was replaced brings its successor with it, because the owner may only know the id
  /// from before. By token or app transaction, the customer's rows are those that have the id as of
  /// now; an answer about the past leaves out those that did not have it then.
  ///
  /// - Throws: `LedgerError.ambiguous` if several apps have the original transaction id;
  ///   `LedgerError.notReady` while no projection can be read, or while it lacks too many events,
  ///   unless the id is an original transaction id; what `entitlement` throws it.
  public func customer(
    _ asked: CustomerQuestion, _ question: Question
  ) throws(LedgerError) -> CustomerDocument {
    defer { endSnapshot() }
    var asked = asked
    try setInForce(
      &asked.catalog, asked.environment, asked.usesPresentMapping ? nil : question)
    asked.names = asked.catalog.names(in: asked.apps)
    let standing = try standing(asked, question)
    // Only names tell why they are not active.
    let elsewhere =
      standing.isKnown || asked.names.isEmpty
      ? nil : NamedAnswer.Absence(try whereElse(asked, question, spans(asked, question)))
    return CustomerDocument(
      asked,
      entitlements: asked.names.map { name in
        var answer = standing.answer(name, asked.catalog)
        if let elsewhere { answer.absence = elsewhere }
        return (name, answer)
      }, standing, question)
  }

  /// All that a customer's answers are made of, at one time.
  struct Standing {
    /// In key order.
    fileprivate(set) var documents: [RowDocument] = []
    fileprivate(set) var streams: [CustomerStream] = []
    fileprivate var granted: [GrantedAccess] = []
    fileprivate let time: Int64
    fileprivate(set) var durations: AppDurations
    /// Whether there are more purchases than are read.
    let hasMore: Bool
    /// The first of the purchases that are the customer's own, in key order.
    fileprivate(set) var first: StreamKey?

    /// Whether anything is known of the customer.
    var isKnown: Bool { !documents.isEmpty || !granted.isEmpty }

    func answer(_ name: String, _ catalog: EntitlementCatalog) -> NamedAnswer {
      catalog.answer(name, streams, granted, at: time, durations: durations)
    }

    /// The same with other durations.
    func with(_ durations: AppDurations) -> Standing {
      var standing = self
      standing.durations = durations
      return standing
    }
  }

  private func spans(_ asked: CustomerQuestion, _ question: Question) -> WantedSpans {
    .since(question.time.advanced(orBoundBy: -asked.catalog.longestLeeway))
  }

  /// - Throws: as `customer`.
  func standing(
    _ asked: CustomerQuestion, _ question: Question
  ) throws(LedgerError) -> Standing {
    let spans = spans(asked, question)
    var (waiting, hasMore) = try streams(of: asked, question, spans)
    var standing = Standing(time: question.time, durations: durations(question), hasMore: hasMore)
    // Successors that were brought in, and are not the customer's own.
    var brought: Set<StreamKey> = []
    // Filled when it is needed: nearly no row was replaced.
    var known: Set<StreamKey> = []
    while let next = waiting.popLast() {
      try limit?.check()
      guard let document = try document(next.key, next.row, question, next.opened) else { continue }
      standing.documents.append(document)
      // Shown, but of another user since: it entitles that one.
      if asked.kind == .appAccountToken,
        let token = document.entitlement.purchase?.appAccountToken, token.lowercased() != asked.id
      {
        continue
      }
      let isBrought = brought.contains(next.key)
      if asked.countsOwnAlone, !isBrought, try !isOwn(document, asked) { continue }
      if !isBrought { standing.first = min(standing.first ?? next.key, next.key) }
      standing.streams.append(
        CustomerStream(
          key: next.key, row: next.row, succeededBy: document.succeededBy,
          confirmedAt: document.confirmedAt))
      guard let id = document.succeededBy else { continue }
      if known.isEmpty { known = Set(waiting.map(\.key) + standing.streams.map(\.key)) }
      guard known.count < asked.maximumRows else { continue }
      guard known.insert(next.key.stream(id)).inserted else { continue }
      let (environment, bundleId) = (next.key.environment, next.key.bundleId)
      if let found = try located(id, environment, bundleId, question, spans) {
        waiting.append(found)
        brought.insert(found.key)
      }
    }
    standing.documents.sort { $0.key < $1.key }
    standing.granted = try granted(asked, question)
    return standing
  }

  /// Whether a purchase that an id found is that customer's by `CustomerKey`.
  private func isOwn(
    _ document: RowDocument, _ asked: CustomerQuestion
  ) throws(LedgerError) -> Bool {
    switch asked.kind {
    case .account: return true
    case .appTransactionId: return false
    case .originalTransactionId where document.entitlement.purchase?.appAccountToken != nil:
      return false
    case .appAccountToken, .originalTransactionId:
      guard mayHaveStatements else { return true }
      return try journal.accountCount(of: document.key) == 0
    }
  }

  /// Where an id is known that is not known where it was asked about.
  private func whereElse(
    _ asked: CustomerQuestion, _ question: Question, _ spans: WantedSpans
  ) throws(LedgerError) -> NamedAnswer.Absence.Reason {
    func isKnown(_ asked: CustomerQuestion) throws(LedgerError) -> Bool {
      do throws(LedgerError) {
        guard try streams(of: asked, question, spans).found.isEmpty else { return true }
        return try !granted(asked, question).isEmpty
      } catch {
        guard error.code == .ambiguous else { throw error }
        return true
      }
    }
    var other = asked
    if asked.bundleId != nil {
      other.bundleId = nil
      if try isKnown(other) { return .otherApp }
    }
    for environment in Environment.all where environment != asked.environment {
      other.environment = environment
      if try isKnown(other) { return .otherEnvironment }
    }
    return .unknown
  }

  /// What the owner granted of what may be shown.
  private func granted(
    _ asked: CustomerQuestion, _ question: Question
  ) throws(LedgerError) -> [GrantedAccess] {
    guard let customer = asked.customer else { return [] }
    let all = try grants(
      of: customer, asked.environment, receivedThrough: question.knownAt ?? .max)
    return all.map(\.access).filter { grant in
      let key = StreamKey(
        environment: asked.environment, bundleId: grant.bundleId, originalTransactionId: "")
      return asked.covers(key) && question.covers(key)
    }
  }

  /// Whether more than so many statements were made about a customer.
  ///
  /// - Throws: what SQLite reports.
  public func hasStatements(
    about asked: CustomerQuestion, moreThan limit: Int
  ) throws(LedgerError) -> Bool {
    guard mayHaveStatements, let customer = asked.customer,
      let mac = try journal.mac(of: customer)
    else { return false }
    return try journal.hasStatements(about: mac, moreThan: limit)
  }

  /// The streams that an account has claimed, and whether there are more.
  private func claimed(
    _ asked: CustomerQuestion, _ question: Question, _ spans: WantedSpans
  ) throws(LedgerError) -> (found: [Located], hasMore: Bool) {
    let keys = try journal.streams(claimedBy: asked.id, receivedThrough: question.knownAt ?? .max)
      .filter { asked.covers($0) && question.covers($0) }
    var found: [Located] = []
    // The newest claims first: of too many, these are most likely of use.
    for key in keys.reversed().prefix(asked.maximumRows) {
      let located = try located(
        key.originalTransactionId, key.environment, key.bundleId, question, spans)
      if let located { found.append(located) }
    }
    return (found, keys.count > asked.maximumRows)
  }

  /// The streams that an id finds, and whether there are more.
  private func streams(
    of asked: CustomerQuestion, _ question: Question, _ spans: WantedSpans
  ) throws(LedgerError) -> (found: [Located], hasMore: Bool) {
    switch asked.kind {
    case .appAccountToken: return try streams(having: .appAccountToken, asked, question, spans)
    case .appTransactionId: return try streams(having: .appTransactionId, asked, question, spans)
    case .account: return try claimed(asked, question, spans)
    case .originalTransactionId:
      let found = try located(asked.id, asked.environment, asked.bundleId, question, spans)
      return (found.map { [$0] } ?? [], false)
    }
  }

  /// The streams that have an id: from the projection, and those with later events from the
  /// journal.
  private func streams(
    having kind: ProjectionReader.IdKind, _ asked: CustomerQuestion, _ question: Question,
    _ spans: WantedSpans
  ) throws(LedgerError) -> (found: [Located], hasMore: Bool) {
    guard let opened = readable() else { throw .notReady(state) }
    let later = try later(than: opened)
    let kinds =
      question.isAboutThePast && kind == .appAccountToken ? [kind, .formerAccountToken] : [kind]
    func read(
      where covers: (_ bundleId: String) -> Bool = { _ in true }
    ) throws(LedgerError) -> [ProjectedRow] {
      var found: [ProjectedRow] = []
      for kind in kinds {
        found += try opened.reader.customerRows(
          kind, asked.id, asked.environment, asked.bundleId, limit: asked.maximumRows + 1, spans,
          where: covers)
      }
      return found
    }
    var found = rows { () throws(LedgerError) in try read() }
    // Rows that may not be shown must not take the place of others, nor be counted.
    if let all = found, all.count > asked.maximumRows,
      all.contains(where: { !question.covers($0.key) })
    {
      found = rows { () throws(LedgerError) in
        try read { (bundleId) in
          question.covers(
            StreamKey(
              environment: asked.environment, bundleId: bundleId, originalTransactionId: ""))
        }
      }
    }
    guard let found else { throw .notReady(state) }
    var streams: [Located] = []
    for row in found.prefix(asked.maximumRows) where question.covers(row.key) {
      if later[row.key] == nil {
        streams.append(Located(key: row.key, row: row.row, opened: opened))
      }
    }
    for stream in later.values where asked.covers(stream.key) && question.covers(stream.key) {
      if kinds.contains(where: { stream.hasId(asked.id, $0) }) {
        streams.append(Located(key: stream.key, row: stream.row, opened: opened))
      }
    }
    if question.isAboutThePast || !opened.isOwn {
      streams = try journaled(streams, having: kind, asked, question)
    }
    return (streams, found.count > asked.maximumRows)
  }

  /// The same streams folded from the journal, without those that did not have the id then.
  private func journaled(
    _ streams: [Located], having kind: ProjectionReader.IdKind, _ asked: CustomerQuestion,
    _ question: Question
  ) throws(LedgerError) -> [Located] {
    var found: [Located] = []
    for located in streams {
      let stream = FoldedStream(
        located.key, try journaledState(of: located.key, question), by: journal.fold)
      guard stream.hasId(asked.id, kind) else { continue }
      found.append(Located(key: stream.key, row: stream.row, opened: located.opened))
    }
    return found
  }
}

extension LedgerReader.CustomerQuestion {
  fileprivate func covers(_ key: StreamKey) -> Bool {
    environment == key.environment
      && (bundleId.map { ByteSearch.areEqual($0, key.bundleId) } ?? true)
  }
}

extension FoldedStream {
  fileprivate func hasId(_ id: String, _ kind: ProjectionReader.IdKind) -> Bool {
    ids[Int(kind.rawValue) - 1].contains { ByteSearch.areEqual($0, id) }
  }
}
