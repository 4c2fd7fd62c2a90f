public import AppStore
public import Entitlements
public import Platform

/// Lists and counts of what rows answer at a time. They cost what they return: the present answers
/// are in indexes, and those that the time has changed since they were evaluated are corrected.
extension ProjectionReader {
  /// Which rows to list: those of apps that are covered, and that match every member.
  public struct Filter: Sendable {
    /// Any of these; empty for all.
    public var statuses: Set<Entitlement.Status> = []
    /// Whether the rows give access; nil for both.
    public var givesAccess: Bool?
    public var productId: String?
    public var appAccountToken: String?
    public var appTransactionId: String?
    /// Whether rows of an app in an environment are listed.
    var covers: @Sendable (Environment, String) -> Bool

    public init(covers: @escaping @Sendable (Environment, String) -> Bool = { _, _ in true }) {
      self.covers = covers
    }

    func wants(_ status: Entitlement.Status) -> Bool {
      statuses.isEmpty || statuses.contains(status)
    }

    /// Whether a row matches at a time.
    public func matches(_ row: ProjectedRow, _ entitlement: Entitlement?) -> Bool {
      guard let entitlement, covers(row.key.environment, row.key.bundleId) else { return false }
      return wants(entitlement.status)
        && givesAccess.map { $0 == entitlement.givesAccess } ?? true
        && (productId.map { ByteSearch.areEqual($0, entitlement.productId) } ?? true)
    }
  }

  /// Up to `limit` rows that match at a time, with their spans since then, in key order after a
  /// key. The caller has begun a snapshot.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - durations: those of all apps.
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func rows(
    _ filter: Filter, at now: Int64, durations: AppDurations, after key: StreamKey?, limit: Int
  ) throws(LedgerError) -> [ProjectedRow] {
    let candidates: AnyCandidates
    if let token = filter.appAccountToken {
      candidates = { (last, limit) throws(LedgerError) in
        try self.rows(.appAccountToken, token, after: last, limit, .since(now))
      }
    } else if let id = filter.appTransactionId {
      candidates = { (last, limit) throws(LedgerError) in
        try self.rows(.appTransactionId, id, after: last, limit, .since(now))
      }
    } else if try isEvaluated(by: now), try !isEveryRow(filter) {
      candidates = { (last, limit) throws(LedgerError) in
        try self.answering(filter, at: now, durations, after: last, limit)
      }
    } else {
      candidates = { (last, limit) throws(LedgerError) in
        try self.all(after: last, max(50, limit), self.row(.since(now)))
      }
    }
    var found: [ProjectedRow] = []
    var last = key
    while found.count < limit {
      let wanted = limit - found.count
      let batch = try candidates(last, wanted)
      last = batch.last?.key
      found += batch.filter {
        filter.matches($0, $0.row.entitlement(at: now, durations: durations[$0.key]))
      }
      guard batch.count >= wanted else { break }
    }
    return Array(found.prefix(limit))
  }

  /// Whether every row matches, so that no index is needed: each product has a place of its own
  /// in it.
  private func isEveryRow(_ filter: Filter) throws(LedgerError) -> Bool {
    guard filter.statuses.isEmpty, filter.givesAccess == nil, filter.productId == nil else {
      return false
    }
    return try apps().allSatisfy { filter.covers($0.0.environment, $0.0.bundleId) }
  }

  private typealias AnyCandidates = (StreamKey?, Int) throws(LedgerError) -> [ProjectedRow]

  /// Whether the clock was never later than this when answers were evaluated. After the clock was
  /// set back the columns may be ahead of it, and all rows are evaluated.
  private func isEvaluated(by now: Int64) throws(LedgerError) -> Bool {
    try Meta(connection: connection).int(.evaluatedAt) ?? .min <= now
  }

  /// The products of which answers may be those by a former duration.
  private func changing() throws(LedgerError) -> Set<AppProduct> {
    Set(
      try connection.statement("SELECT app_id, product_id FROM changed_duration").all {
        AppProduct(app: $0.int(0), product: $0.text(1))
      })
  }

  // MARK: By the present answer

  /// A row's id and key, before the row is read.
  private typealias Candidate = (key: StreamKey, id: Int64)

  /// Up to `limit` rows by their present answers, in key order after a key: those whose answer was
  /// evaluated for the time come from an index for each product and status, the others are
  /// evaluated.
  private func answering(
    _ filter: Filter, at now: Int64, _ durations: AppDurations, after key: StreamKey?,
    _ limit: Int
  ) throws(LedgerError) -> [ProjectedRow] {
    let due = try due(at: now)
    let dueIds = Set(due.map(\.id))
    var found = due.filter { row in
      key.map { $0 < row.projected.key } ?? true
        && filter.matches(
          row.projected,
          row.projected.row.entitlement(at: now, durations: durations[row.projected.key]))
    }.map { Candidate($0.projected.key, $0.id) }
    // There may be many times as many of them as of all others.
    let idle = filter.givesAccess == true ? try consumables() : []
    let changing = try changing()
    for (app, id) in try apps() where filter.covers(app.environment, app.bundleId) {
      for product in try products(filter.productId, of: id)
      where !idle.contains(AppProduct(app: id, product: product)) {
        let isChanging = changing.contains(AppProduct(app: id, product: product))
        for status in Entitlement.Status.allCases where isChanging || filter.wants(status) {
          found += try candidates(id, product, status, app, after: key, limit + due.count)
            .filter { !dueIds.contains($0.id) }
        }
      }
    }
    found.sort { $0.key < $1.key }
    var rows: [ProjectedRow] = []
    for candidate in found.prefix(limit) {
      let row = try connection.statement(Self.byId).bind(1, candidate.id)
        .first(row(.since(now)))
      if let row { rows.append(row) }
    }
    return rows
  }

  /// Read from the index alone: there may be as many for each product as are wanted in all.
  private func candidates(
    _ appId: Int64, _ product: String?, _ status: Entitlement.Status, _ app: AppKey,
    after key: StreamKey?, _ limit: Int
  ) throws(LedgerError) -> [Candidate] {
    // Of two rows with one original transaction id the app decides which comes first.
    let isAfter = key.map { $0 < StreamKey(app, $0.originalTransactionId) } ?? true
    return try connection.statement(
      """
      SELECT original_transaction_id, id FROM entitlement INDEXED BY entitlement_answer
      WHERE app_id = ? AND answer_product_id IS ? AND answer_status = ?
      AND original_transaction_id \(isAfter ? ">=" : ">") ?
      ORDER BY original_transaction_id LIMIT ?
      """
    ).bind(1, appId).bind(2, product).bind(3, status.rawValue)
      .bind(4, key?.originalTransactionId ?? "").bind(5, Int64(limit)).all {
        (StreamKey(app, $0.text(0)), $0.int(1))
      }
  }

  func apps() throws(LedgerError) -> [(AppKey, Int64)] {
    try connection.statement("SELECT environment, bundle_id, id FROM app").all {
      (AppKey(environment: Environment(rawValue: $0.text(0)), bundleId: $0.text(1)), $0.int(2))
    }
  }

  /// The products of an app; this one alone unless it is nil.
  private func products(_ productId: String?, of app: Int64) throws(LedgerError) -> [String?] {
    if let productId { return [productId] }
    return try connection.statement("SELECT DISTINCT product_id FROM product WHERE app_id = ?")
      .bind(1, app).all { $0.optionalText(0) }
  }

  /// A product of an app, by the app's id in the file.
  private struct AppProduct: Hashable {
    let app: Int64
    let product: ExactText?

    init(app: Int64, product: String?) {
      (self.app, self.product) = (app, product.map(ExactText.init))
    }
  }

  /// The products that never give access, whatever the status.
  private func consumables() throws(LedgerError) -> Set<AppProduct> {
    Set(
      try connection.statement("SELECT app_id, product_id FROM product WHERE product_type = ?")
        .bind(1, ProductType.consumable).all {
          AppProduct(app: $0.int(0), product: $0.optionalText(1))
        })
  }

  /// The rows whose answer has changed since it was evaluated.
  private func due(at now: Int64) throws(LedgerError) -> [RowReading.Stored] {
    try connection.statement(Self.select + "WHERE e.answer_until_ms <= ?").bind(1, now)
      .all { (row) throws(LedgerError) in try reading.stored(row) }
  }

  // MARK: Counts

  /// How many rows have each answer.
  public struct Counts: Sendable, Equatable {
    /// An app in one environment.
    public struct App: Hashable, Sendable {
      public let environment: Environment
      public let bundleId: String

      public init(environment: Environment, bundleId: String) {
        self.environment = environment
        self.bundleId = bundleId
      }
    }

    /// The time of the answers, milliseconds since 1970.
    public let at: Int64
    /// The last seq in the rows.
    public var foldedThrough: Int64 = 0
    public var byStatus: [App: [Entitlement.Status: Int64]] = [:]
    /// Those of them that give no access.
    public var withoutAccess: [App: [Entitlement.Status: Int64]] = [:]
    /// Rows whose fold failed (promise 9).
    public var broken: [App: Int64] = [:]

    init(at: Int64) { self.at = at }

    /// Counts a row, or takes it out with a negative number.
    public mutating func add(
      _ key: StreamKey, _ status: Entitlement.Status?, givesAccess: Bool, _ number: Int64
    ) {
      guard let status else { return }
      let app = App(environment: key.environment, bundleId: key.bundleId)
      byStatus[app, default: [:]][status, default: 0] += number
      if !givesAccess { withoutAccess[app, default: [:]][status, default: 0] += number }
    }
  }

  /// Counts all rows by app and status at a time. Takes about a tenth of a second for a million
  /// rows. The caller has begun a snapshot.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970.
  ///   - durations: those of all apps.
  /// - Throws: `LedgerError.corrupt` when a row is damaged, otherwise what SQLite reports.
  public func counts(at now: Int64, durations: AppDurations) throws(LedgerError) -> Counts {
    var counts = Counts(at: now)
    counts.foldedThrough = try foldedThrough()
    let isChanging = try DurationTable.isChanging(connection)
    var isEvaluated = try isEvaluated(by: now)
    if isChanging { isEvaluated = false }
    let idle = try consumables()
    let statement = try connection.statement(isEvaluated ? Self.present : Self.evaluated)
    if !isEvaluated { statement.bind(1, now) }
    try statement.forEach { (row) throws(LedgerError) in
      let app = try reading.values.app(row.int(0))
      let product = AppProduct(app: row.int(0), product: row.optionalText(3))
      counts.add(
        StreamKey(app, ""), Entitlement.Status(rawValue: row.text(1)),
        givesAccess: !idle.contains(product), row.int(2))
      return true
    }
    for row in isEvaluated ? try due(at: now) : [] {
      let key = row.projected.key
      let product = AppProduct(app: row.app, product: row.answer?.product)
      counts.add(
        key, row.answer.flatMap { Entitlement.Status(rawValue: $0.status) },
        givesAccess: !idle.contains(product), -1)
      let answer = row.projected.row.current(at: now, durations: durations[key])
      let now = answer.flatMap { row.projected.row.spans[$0.span].productId }
      counts.add(
        key, answer?.status, givesAccess: !idle.contains(AppProduct(app: row.app, product: now)), 1)
    }
    try connection.statement(
      """
      SELECT app_id, count(*) FROM entitlement INDEXED BY entitlement_broken
      WHERE broken IS NOT NULL GROUP BY app_id
      """
    ).forEach { (row) throws(LedgerError) in
      let app = try reading.values.app(row.int(0))
      counts.broken[.init(environment: app.environment, bundleId: app.bundleId)] = row.int(1)
      return true
    }
    return counts
  }

  private static let present = """
    SELECT app_id, answer_status, count(*), answer_product_id
    FROM entitlement INDEXED BY entitlement_answer
    WHERE answer_status IS NOT NULL GROUP BY app_id, answer_product_id, answer_status
    """

  /// The same from the spans.
  private static let evaluated = """
    SELECT e.app_id,
      iif(s.status = 'active' AND e.lasting_from_ms + d.milliseconds <= ?1, 'expired', s.status)
        AS status,
      count(*), s.product_id
    FROM entitlement e JOIN entitlement_span s ON s.entitlement_id = e.id AND s.from_ms = (
        SELECT max(n.from_ms) FROM entitlement_span n
        WHERE n.entitlement_id = e.id AND n.from_ms <= ?1)
      LEFT JOIN duration d ON d.app_id = e.app_id AND d.product_id = e.lasting_product_id
        AND d.from_ms <= ?1 AND coalesce(d.until_ms > ?1, 1)
    GROUP BY 1, 2, 4
    """
}
