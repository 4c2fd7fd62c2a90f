public import AppStore
public import Entitlements
public import Platform
import Store
public import StrictJSON

/// Lists of rows, in key order, page by page.
extension LedgerReader {
  /// Which rows to list: those that match every member that is not nil.
  public struct Filter: Sendable {
    public var appAccountToken: String?
    public var appTransactionId: String?
    public var productId: String?
    /// Any of these; empty for all.
    public var statuses: Set<Entitlement.Status> = []
    /// Whether the rows give access; nil for both.
    public var givesAccess: Bool?
    public var environment: Environment?
    public var bundleId: String?

    public init() {}

    /// The names of all statuses.
    public static let statusNames = Entitlement.Status.allCases.map(\.rawValue)

    /// Sets the statuses by their names, separated by commas; leaves out what is none.
    public mutating func setStatuses(_ names: String) {
      statuses = Set(
        names.split(separator: ",").compactMap { Entitlement.Status(rawValue: String($0)) })
    }
  }

  /// A page of a list.
  public struct Page: Sendable {
    public let rows: [RowDocument]
    /// The key after which the next page starts; nil at the end.
    public let next: StreamKey?
    /// The fold that made the rows. Another fold's are shown while this program's are built; those
    /// with later events are already folded by this program.
    public let foldVersion: Int
  }

  /// Up to `limit` rows in key order after a key.
  ///
  /// - Throws: `LedgerError.notReady` while no projection can be read, or while it lacks too many
  ///   events; what SQLite reports.
  public func list(
    _ filter: Filter, after: StreamKey?, limit: Int, _ question: Question
  ) throws(LedgerError) -> Page {
    guard let opened = readable() else { throw .notReady(state) }
    defer { endSnapshot() }
    let later = try later(than: opened)
    let wanted = filter.projected(question)
    let found = rows { () throws(LedgerError) in
      try page(opened.reader, wanted, at: question.time, after: after, limit, except: later)
    }
    guard var found else { throw .notReady(state) }
    found += later.values.filter { stream in
      filter.finds(stream.ids) && after.map { $0 < stream.key } ?? true
        && wanted.matches(
          stream.projected,
          stream.row.entitlement(at: question.time, durations: durations[stream.key]))
    }.map(\.projected)
    found.sort { $0.key < $1.key }
    var documents: [RowDocument] = []
    for row in found.prefix(limit) {
      try self.limit?.check()
      if let document = try document(row.key, row.row, question, opened) {
        documents.append(document)
      }
    }
    return Page(
      rows: documents, next: found.count >= limit ? found.prefix(limit).last?.key : nil,
      foldVersion: opened.foldVersion)
  }

  /// The streams with later events than the projection has. None while it follows the journal.
  func later(than opened: Opened) throws(LedgerError) -> [StreamKey: FoldedStream] {
    let read = rows { () throws(LedgerError) -> Int64? in
      try beginSnapshot()
      return isFollowing ? nil : try opened.reader.foldedThrough()
    }
    guard let read else { throw .notReady(state) }
    guard let through = read else {
      laterStreams.removeAll()
      return [:]
    }
    let isComplete = try laterStreams.update(journal, after: through, generation: opened.generation)
    guard isComplete else { throw .notReady(state) }
    return laterStreams.streams
  }

  private func page(
    _ projection: ProjectionReader, _ filter: ProjectionReader.Filter, at time: Int64,
    after: StreamKey?, _ limit: Int, except later: [StreamKey: FoldedStream]
  ) throws(LedgerError) -> [ProjectedRow] {
    var found: [ProjectedRow] = []
    var last = after
    while found.count < limit {
      let page = try projection.rows(
        filter, at: time, durations: durations, after: last, limit: limit)
      found += page.filter { later[$0.key] == nil }
      guard page.count == limit else { break }
      last = page.last?.key
    }
    return found
  }
}

extension LedgerReader.Filter {
  /// The same for the rows of a projection.
  fileprivate func projected(_ question: LedgerReader.Question) -> ProjectionReader.Filter {
    let (environment, bundleId) = (environment, bundleId)
    var filter = ProjectionReader.Filter { rowEnvironment, rowBundleId in
      environment ?? rowEnvironment == rowEnvironment
        && (bundleId.map { ByteSearch.areEqual($0, rowBundleId) } ?? true)
        && question.covers(
          StreamKey(environment: rowEnvironment, bundleId: rowBundleId, originalTransactionId: ""))
    }
    filter.statuses = statuses
    filter.givesAccess = givesAccess
    filter.productId = productId
    filter.appAccountToken = appAccountToken
    filter.appTransactionId = appTransactionId
    return filter
  }

  /// Whether a row with these ids is found by the filter's.
  fileprivate func finds(_ ids: [[String]]) -> Bool {
    func has(_ id: String?, _ known: [String]) -> Bool {
      id.map { id in known.contains { ByteSearch.areEqual($0, id) } } ?? true
    }
    return has(appAccountToken, ids[0]) && has(appTransactionId, ids[1])
  }
}

/// A purchase that an id belongs to.
public struct FoundPurchase: Sendable {
  /// What the id is.
  public enum Kind: String, Sendable, CaseIterable {
    case originalTransactionId = "original_transaction_id"
    case transactionId = "transaction_id"
    case notificationUUID = "notification_uuid"
  }

  public let key: StreamKey
  public let kind: Kind

  public static let object = JSONObject<FoundPurchase>(
    "FoundPurchase",
    [
      .type("found_purchase"),
      JSONMember("environment", .environment) { $0.key.environment.rawValue },
      JSONMember("bundle_id", .bundleId) { $0.key.bundleId },
      JSONMember("original_transaction_id", .text()) { $0.key.originalTransactionId },
      JSONMember("kind", .oneOf(Kind.allCases.map(\.rawValue), "What the id is.")) {
        $0.kind.rawValue
      },
    ])
}

extension LedgerReader {
  /// Whether the journal has anything of a purchase.
  ///
  /// - Throws: what SQLite reports.
  public func hasPurchase(_ key: StreamKey) throws(LedgerError) -> Bool {
    try journal.streams(withOriginalTransactionId: key.originalTransactionId).contains(key)
  }

  /// The purchases that an id belongs to, whatever it is: of the journal, of rows, of quarantine.
  ///
  /// - Throws: `LedgerError.notReady` if it is found nowhere, and rows cannot be read; what SQLite
  ///   reports.
  public func purchases(
    withId id: String, _ question: Question
  ) throws(LedgerError) -> [FoundPurchase] {
    var found: [FoundPurchase] = []
    func add(_ keys: [StreamKey], _ kind: FoundPurchase.Kind) {
      for key in keys where question.covers(key) && !found.contains(where: { $0.key == key }) {
        found.append(FoundPurchase(key: key, kind: kind))
      }
    }
    add(try journal.streams(withOriginalTransactionId: id), .originalTransactionId)
    if let uuid = NotificationUUID(id) {
      add(
        [try journal.event(notificationUUID: uuid)?.streamKey].compactMap(\.self),
        .notificationUUID)
    }
    let opened = readable()
    let reader = opened?.isOwn == true ? opened?.reader : nil
    let keys = reader.flatMap { reader in
      rows { () throws(LedgerError) in try reader.keys(ofTransaction: id) }
    }
    add(keys ?? [], .transactionId)
    add(
      try journal.quarantined(about: id, environment: nil, bodies: false, limit: 100)
        .map { QuarantinedEntry($0, isRaw: false).key(id) }, .originalTransactionId)
    // Rows alone know the ids of renewals.
    if keys == nil, found.isEmpty, case .running = source { throw .notReady(state) }
    return found
  }
}
