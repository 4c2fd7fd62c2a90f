public import AppStore
public import Entitlements
public import Platform

/// How long non-renewing products last, as a projection has it: its present answers and its views
/// end by it.
enum DurationTable {
  /// By the id of the app in the file.
  static func read(_ connection: SQLiteConnection) throws(LedgerError) -> [Int64: Durations] {
    var found: [Int64: [String: [Durations.Entry]]] = [:]
    try connection.statement(
      "SELECT app_id, product_id, from_ms, milliseconds FROM duration ORDER BY 1, 2, 3"
    ).forEach { (row) throws(LedgerError) in
      let duration = row.optionalInt(3).map { ProductDuration(milliseconds: $0) }
      found[row.int(0), default: [:]][row.text(1), default: []]
        .append(Durations.Entry(from: row.int(2), duration: duration))
      return true
    }
    return found.mapValues(Durations.init)
  }

  static func write(
    _ durations: Durations, of app: Int64, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    try connection.statement("DELETE FROM duration WHERE app_id = ?").bind(1, app).run()
    for (product, said) in durations.products {
      for (index, word) in said.enumerated() {
        let until = index + 1 < said.count ? said[index + 1].from : nil
        try connection.statement(
          """
          INSERT INTO duration (app_id, product_id, from_ms, until_ms, milliseconds)
          VALUES (?, ?, ?, ?, ?)
          """
        ).bind(1, app).bind(2, product).bind(3, word.from).bind(4, until)
          .bind(5, word.duration?.milliseconds).run()
      }
    }
  }

  /// Whether the answers of some rows are not evaluated yet by a duration that changed.
  static func isChanging(_ connection: SQLiteConnection) throws(LedgerError) -> Bool {
    try connection.statement("SELECT 1 FROM changed_duration").first { _ in true } ?? false
  }
}

extension ProjectionReader {
  /// By which durations rows were evaluated last, in milliseconds by app and product; keys have no
  /// original transaction id.
  ///
  /// - Throws: what SQLite reports.
  public func evaluatedDurations() throws(LedgerError) -> [StreamKey: [String: Int64]] {
    let found = try DurationTable.read(connection)
    let apps = try apps().map {
      (StreamKey($0.0, ""), found[$0.1]?.milliseconds(at: .max) ?? [:])
    }
    return Dictionary(apps) { $1 }
  }
}

extension Projection {
  /// Adopts what counts now, in the views at once. The answers of rows that it changes are
  /// evaluated by `evaluateDue`; until then lists and counts read all rows of such a product.
  ///
  /// - Returns: whether others count than at the last call.
  /// - Throws: the error of `close`, or what SQLite reports. Nothing was changed then.
  @discardableResult
  public func adopt(_ durations: AppDurations) throws(LedgerError) -> Bool {
    guard durations != self.durations else { return false }
    let apps = try connection().statement("SELECT id, environment, bundle_id FROM app").all {
      let key = AppKey(environment: Environment(rawValue: $0.text(1)), bundleId: $0.text(2))
      return (id: $0.int(0), key: StreamKey(key, ""))
    }
    try atomically { (connection, _) throws(LedgerError) in
      let table = try DurationTable.read(connection)
      for app in apps {
        let (wanted, written) = (durations[app.key], table[app.id] ?? [:])
        if wanted.products != written.products {
          try DurationTable.write(wanted, of: app.id, connection)
        }
        // By what the answers of its rows were evaluated.
        let before = self.durations?[app.key] ?? written
        for product in Set(wanted.products.keys).union(before.products.keys)
        where wanted.products[product] != before.products[product] {
          try connection.statement("REPLACE INTO changed_duration VALUES (?, ?, ?3, ?3)")
            .bind(1, app.id).bind(2, product).bind(3, Int64.min).run()
        }
      }
    }
    self.durations = durations
    return true
  }

  /// Evaluates the answers that the time has changed, and those of products whose duration changed,
  /// at most `limit` of them, by the clock.
  ///
  /// - Returns: how many there were.
  /// - Throws: the error of `close`, `LedgerError.corrupt` when a row is damaged, otherwise what
  ///   SQLite reports. Nothing was changed then.
  public func evaluateDue(limit: Int) throws(LedgerError) -> Int {
    let due = try connection().statement(
      """
      SELECT \(RowLayout.columns) FROM entitlement e
      WHERE e.answer_until_ms <= ? ORDER BY e.answer_until_ms LIMIT ?
      """
    ).bind(1, clock()).bind(2, Int64(limit)).all { (row) throws(LedgerError) in
      try reading.stored(row)
    }
    if !due.isEmpty {
      try atomically { (connection, _) throws(LedgerError) in try evaluate(due, connection) }
    }
    return due.isEmpty ? try evaluateChanged(limit: limit) : due.count
  }

  /// Evaluates rows of a product whose duration changed.
  private func evaluateChanged(limit: Int) throws(LedgerError) -> Int {
    let changed = try connection().statement("SELECT * FROM changed_duration LIMIT 1").first {
      (app: $0.int(0), product: $0.text(1), at: $0.int(2), id: $0.int(3))
    }
    guard let changed else { return 0 }
    let rows = try connection().statement(
      """
      SELECT \(RowLayout.columns) FROM entitlement e INDEXED BY entitlement_lasting
      WHERE e.lasting_product_id = ?1 AND (e.lasting_from_ms, e.id) > (?2, ?3)
      ORDER BY e.lasting_from_ms, e.id LIMIT ?4
      """
    ).bind(1, changed.product).bind(2, changed.at).bind(3, changed.id).bind(4, Int64(limit))
      .all { (row) throws(LedgerError) in try reading.stored(row) }
    try atomically { (connection, _) throws(LedgerError) in
      try evaluate(rows.filter { $0.app == changed.app }, connection)
      let last = rows.count < limit ? nil : rows.last
      let sql =
        last == nil
        ? "DELETE FROM changed_duration WHERE app_id = ?1 AND product_id = ?2"
        : """
        UPDATE changed_duration SET through_from_ms = ?3, through_id = ?4
        WHERE app_id = ?1 AND product_id = ?2
        """
      let statement = try connection.statement(sql).bind(1, changed.app).bind(2, changed.product)
      if let last { statement.bind(3, last.projected.row.lasting?.from).bind(4, last.id) }
      try statement.run()
    }
    return rows.count
  }

  private func evaluate(
    _ rows: [RowReading.Stored], _ connection: SQLiteConnection
  ) throws(LedgerError) {
    let now = clock()
    evaluatedAt = max(evaluatedAt, now)
    for row in rows {
      let answer = answer(of: row.projected, at: now)
      guard answer != row.answer else { continue }
      try connection.statement(
        """
        UPDATE entitlement
        SET (answer_status, answer_product_id, answer_from_ms, answer_until_ms) = (?, ?, ?, ?)
        WHERE id = ?
        """
      ).bind(1, answer?.status).bind(2, answer?.product).bind(3, answer?.from)
        .bind(4, answer?.until).bind(5, row.id).run()
    }
  }

  /// When the next answer changes, milliseconds since 1970; nil: never.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func nextDue() throws(LedgerError) -> Int64? {
    let connection = try connection()
    if try DurationTable.isChanging(connection) { return .min }
    // The condition is that of the index, without which all rows would be read.
    return try connection.statement(
      "SELECT min(answer_until_ms) FROM entitlement WHERE answer_until_ms IS NOT NULL"
    ).first { $0.optionalInt(0) } ?? nil
  }
}
