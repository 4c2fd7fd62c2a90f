import AppStore
import Encoding
import Entitlements

/// Writes rows and their spans. Within `commit`, or within another SQL transaction.
extension Projection {
  /// Writes a row. What its columns answer at present is evaluated by the clock.
  ///
  /// - Parameters:
  ///   - reference: the row to overwrite; nil if the stream has none yet.
  ///   - now: the current time, milliseconds since 1970.
  /// - Returns: the reference for the next write of this row.
  /// - Throws: `StoreError.corrupt` when the row to overwrite is missing, otherwise what SQLite
  ///   reports.
  @discardableResult
  public func write(
    _ packed: PackedStream, over reference: RowReference?, at now: Int64
  ) throws(StoreError) -> RowReference {
    let (connection, stream) = (try connection(), packed.stream)
    guard let app = try reading.values.id(of: AppKey(stream.key), adding: true) else {
      throw .corrupt("the app of a row is missing")
    }
    evaluatedAt = max(evaluatedAt, now)
    let answer = try answer(of: stream.row, app, at: now)
    let id = try writeRow(packed, app, answer, over: reference, connection)
    try writeSpans(of: id, stream.row, app, replacing: reference?.row, connection)
    if !SameBytes.are(reference?.ids ?? [[], [], []], stream.ids) {
      try writeIds(stream.ids, replacing: reference?.ids, of: id, connection)
    }
    if let reference { digest.remove(reference.share) }
    digest.add(packed.share)
    return RowReference(id: id, ids: stream.ids, share: packed.share, row: stream.row)
  }

  /// What a row answers at a time, as columns; nil if it has no span.
  func answer(
    of row: EntitlementRow, _ app: Int64, at time: Int64
  ) throws(StoreError) -> RowReading.Answer? {
    guard let current = row.current(at: time, durations: durations) else { return nil }
    let span = row.spans[current.span]
    let product = try productId(span.productId, span.purchase.map { row.purchases[$0] }, app)
    return RowReading.Answer(
      status: current.status.id, product: product, from: current.from, until: current.until)
  }

  private func productId(
    _ productId: String?, _ purchase: Purchase?, _ app: Int64
  ) throws(StoreError) -> Int64 {
    let product = SharedValues.Product(
      productId: productId, type: purchase?.productType,
      subscriptionGroupId: purchase?.subscriptionGroupId, ownership: purchase?.ownership)
    return try reading.values.id(of: product, app: app)
  }

  private func writeRow(
    _ packed: PackedStream, _ app: Int64, _ answer: RowReading.Answer?,
    over reference: RowReference?, _ connection: SQLiteConnection
  ) throws(StoreError) -> Int64 {
    let (stream, row) = (packed.stream, packed.stream.row)
    let ids = row.lastIds
    let statement = try connection.statement(reference == nil ? Self.insert : Self.update)
    statement.bind(1, reference?.id).bind(2, app).bind(3, stream.key.originalTransactionId)
      .bind(4, answer?.status).bind(5, answer?.product).bind(6, answer?.from)
      .bind(7, answer?.until).bind(8, packed.checksum).bind(9, row.eventCount)
      .bind(10, row.lastEvent?.seq).bind(11, row.lastEvent?.uuid.bytes)
      .bind(12, row.lastEvent?.notificationType).bind(13, row.lastEvent?.subtype)
      .bind(14, row.lastEvent?.signedDate).bind(15, row.autoRenew.map { $0 ? 1 : 0 })
      .bind(16, row.renewalProductId).bind(17, row.gracePeriodExpiresAt)
      .bind(18, row.priceIncrease?.rawValue)
    try statement.bind(19, row.commitmentAutoRenew.map { $0 ? 1 : 0 }).bind(20, row.revokedAt)
      .bind(21, row.lasting?.productId).bind(22, row.lasting?.from).bind(23, ids.token)
      .bind(24, ids.appTransaction).bind(25, row.previousOriginalTransactionId)
      .bind(26, stream.broken).bind(27, packed.state).run()
    guard let reference else { return connection.lastRowId }
    guard connection.changes == 1 else { throw .corrupt("a row of \(path) is missing") }
    return reference.id
  }

  private static let names = """
    answer_status, answer_product, answer_from_ms, answer_until_ms, checksum, event_count, last_seq,
    last_uuid, last_type, last_subtype, last_signed_date_ms, auto_renew, renewal_product_id,
    grace_period_expires_at_ms, price_increase, commitment_auto_renew, revoked_at_ms,
    lasting_product_id, lasting_from_ms, app_account_token, app_transaction_id,
    previous_original_transaction_id, broken, state
    """

  private static let values = (4...27).map { "?\($0)" }.joined(separator: ", ")

  private static let insert = """
    INSERT INTO entitlement (id, app_id, original_transaction_id, \(names))
    VALUES (?1, ?2, ?3, \(values))
    """

  /// Names the key, so that a row of another stream is not overwritten in a damaged file.
  private static let update = """
    UPDATE entitlement SET (\(names)) = (\(values))
    WHERE id = ?1 AND app_id = ?2 AND original_transaction_id = ?3
    """

  // MARK: Spans

  /// Writes the spans that differ from those of the row before.
  private func writeSpans(
    of id: Int64, _ row: EntitlementRow, _ app: Int64, replacing before: EntitlementRow?,
    _ connection: SQLiteConnection
  ) throws(StoreError) {
    guard let before else {
      for index in row.spans.indices {
        try write(row.stored(index), of: id, app, Self.insertSpan, connection)
      }
      return
    }
    // Both are sorted by time, and mostly they begin with the same spans.
    var same = 0
    while same < min(row.spans.count, before.spans.count),
      row.stored(same).isSame(as: before.stored(same))
    {
      same += 1
    }
    let old = before.spans.indices[same...].map(before.stored)
    let new = row.spans.indices[same...].map(row.stored)
    for span in old where !new.contains(where: span.isSame) {
      try connection.statement(
        "DELETE FROM entitlement_span WHERE entitlement_id = ? AND from_ms = ?"
      ).bind(1, id).bind(2, span.span.from).run()
    }
    // In a damaged file a span may stand where there was none: the checksum of the row is new then.
    for span in new where !old.contains(where: span.isSame) {
      try write(span, of: id, app, Self.replaceSpan, connection)
    }
  }

  private func write(
    _ stored: StoredSpan, of id: Int64, _ app: Int64, _ sql: String, _ connection: SQLiteConnection
  ) throws(StoreError) {
    let (span, purchase) = (stored.span, stored.purchase)
    let product = try productId(span.productId, purchase, app)
    let offer = try purchase?.offer.map { (offer) throws(StoreError) in
      try reading.values.id(of: offer)
    }
    let statement = try connection.statement(sql)
    statement.bind(1, id).bind(2, span.from).bind(3, span.status.id).bind(4, product)
      .bind(5, purchase?.transactionId).bind(6, purchase?.startsAt)
      .bind(7, stored.continues ? 1 : 0).bind(8, span.expiresAt).bind(9, span.hasGap ? 1 : 0)
      .bind(10, purchase?.price?.milliunits).bind(11, purchase?.price?.currency).bind(12, offer)
    Self.bind(13, purchase?.appAccountToken, purchase == nil || stored.hasSameToken, statement)
    Self.bind(
      14, purchase?.appTransactionId, purchase == nil || stored.hasSameAppTransaction, statement)
    try statement.bind(15, purchase?.commitment?.billingPeriodNumber)
      .bind(16, purchase?.commitment?.totalBillingPeriods)
      .bind(17, purchase?.commitment?.commitmentExpiresDate).run()
  }

  /// Less work than `replaceSpan`, in which SQLite prepares for a conflict.
  private static let insertSpan = "INSERT " + spanValues
  private static let replaceSpan = "REPLACE " + spanValues

  private static let spanValues = """
    INTO entitlement_span (entitlement_id, from_ms, status, product, transaction_id,
      starts_at_ms, continues, expires_at_ms, gap, price_milliunits, currency, offer,
      app_account_token, app_transaction_id, commitment_period, commitment_periods,
      commitment_ends_at_ms)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
    """

  /// Binds an id: null is that of the entitlement, 0 is none.
  private static func bind(
    _ index: Int32, _ id: String?, _ isSame: Bool, _ statement: Statement
  ) {
    if isSame {
      statement.bind(index, nil as String?)
    } else if let id {
      statement.bind(index, id)
    } else {
      statement.bind(index, 0)
    }
  }

  // MARK: Ids that rows are found by

  private func writeIds(
    _ new: [[String]], replacing old: [[String]]?, of id: Int64, _ connection: SQLiteConnection
  ) throws(StoreError) {
    for (index, list) in (old ?? []).enumerated() {
      for value in list where !new[index].contains(where: { ByteSearch.areEqual($0, value) }) {
        try connection.statement(
          "DELETE FROM token WHERE kind = ? AND value = ? AND entitlement_id = ?"
        ).bind(1, Int64(index + 1)).bind(2, value).bind(3, id).run()
      }
    }
    for (index, list) in new.enumerated() {
      for value in list {
        try connection.statement(
          "INSERT OR IGNORE INTO token (kind, value, entitlement_id) VALUES (?, ?, ?)"
        ).bind(1, Int64(index + 1)).bind(2, value).bind(3, id).run()
      }
    }
  }
}
