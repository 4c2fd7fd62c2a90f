import AppStore

/// Writes the quarantine: genuine notifications that are not admitted (promise 2).
extension Journal {
  /// The largest number of stored notifications of apps that are not configured. Further ones are
  /// only counted, because any developer can send genuine notifications of their own apps.
  public static let foreignLimit = 10_000

  /// Stores a notification unless it is there or the limit is reached. Called within `write`.
  func quarantine(
    _ item: NewQuarantine, _ connection: SQLiteConnection
  ) throws(StoreError) -> AppendOutcome {
    if try isQuarantined(item, connection) { return .alreadyQuarantined }
    if item.isForeign && foreignCount >= Self.foreignLimit {
      try connection.statement(
        """
        UPDATE meta SET value = value + 1
        WHERE key = 'foreign_overflow' AND value < 9223372036854775807
        """
      ).run()
      return .quarantineFull
    }
    let stored = try codec.encode(item.body, trainsDictionary: false)
    let statement = try connection.statement(
      """
      INSERT INTO quarantine (reason, is_foreign, source, notification_uuid, environment, bundle_id,
        notification_type, signed_date_ms, received_at_ms, body_sha256, dictionary_id, body,
        original_transaction_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    statement.bind(1, item.reason).bind(2, item.isForeign ? 1 : 0).bind(3, item.source.rawValue)
      .bind(4, item.notificationUUID?.description).bind(5, item.environment?.rawValue).bind(
        6, item.bundleId
      )
      .bind(7, item.notificationType).bind(8, item.signedDate).bind(9, item.receivedAt)
      .bind(10, item.bodySHA256).bind(11, stored.dictionary).bind(12, stored.bytes)
      .bind(13, item.originalTransactionId)
    try statement.run()
    let id = connection.lastRowId
    try RunningDigest.quarantine.add(id, connection)
    if item.isForeign { foreignCount += 1 }
    return .quarantined(id: id)
  }

  /// A notification is stored once per UUID, or once per body if it has no UUID.
  private func isQuarantined(
    _ item: NewQuarantine, _ connection: SQLiteConnection
  ) throws(StoreError) -> Bool {
    let found: Bool?
    if let uuid = item.notificationUUID {
      found = try connection.statement("SELECT 1 FROM quarantine WHERE notification_uuid = ?")
        .bind(1, uuid.description).first { _ in true }
    } else {
      found = try connection.statement(
        "SELECT 1 FROM quarantine WHERE notification_uuid IS NULL AND body_sha256 = ?"
      ).bind(1, item.bodySHA256).first { _ in true }
    }
    return found ?? false
  }

  /// Removes a notification from quarantine when it is journaled, also if Apple has signed it again
  /// since.
  func release(_ event: NewEvent, _ connection: SQLiteConnection) throws(StoreError) {
    // Two searches of unique indexes; a notification without a UUID is recognized by its body.
    let found = try connection.statement(
      """
      SELECT body_sha256, source, body, dictionary_id, id, is_foreign FROM quarantine
      WHERE notification_uuid = ?1 OR (notification_uuid IS NULL AND body_sha256 = ?2)
      """
    ).bind(1, event.notificationUUID.description).bind(2, event.bodySHA256).all { row in
      (id: row.int(4), isForeign: row.int(5) == 1, stored: StoredContent(row))
    }
    for item in found where try isSameNotification(item.stored, as: event) {
      try remove(item.id, isForeign: item.isForeign, connection)
    }
  }

  private func remove(
    _ id: Int64, isForeign: Bool, _ connection: SQLiteConnection
  ) throws(StoreError) {
    try RunningDigest.quarantine.remove(id, connection)
    try connection.statement("DELETE FROM quarantine WHERE id = ?").bind(1, id).run()
    if isForeign { foreignCount -= 1 }
  }

  /// Removes one notification.
  ///
  /// - Returns: whether there was one with this id.
  /// - Throws: what SQLite reports. A fatal error ends the journal.
  public func removeQuarantined(_ id: Int64) throws(StoreError) -> Bool {
    try write { (connection) throws(StoreError) in
      let isForeign = try connection.statement("SELECT is_foreign FROM quarantine WHERE id = ?")
        .bind(1, id).first { $0.int(0) == 1 }
      guard let isForeign else { return false }
      try remove(id, isForeign: isForeign, connection)
      return true
    }
  }

  /// The number of other apps' notifications that were only counted.
  ///
  /// - Throws: the error that has ended the journal, or what SQLite reports.
  public func foreignOverflow() throws(StoreError) -> Int64 {
    try Meta(connection: connection()).int(.foreignOverflow) ?? 0
  }
}

extension NewQuarantine {
  /// A genuine notification whose UUID was journaled first with other content.
  init(conflict event: NewEvent) {
    self.init(
      reason: "conflict", isForeign: false, source: event.source,
      notificationUUID: event.notificationUUID, environment: event.environment,
      bundleId: event.bundleId, notificationType: event.notificationType,
      originalTransactionId: event.originalTransactionId, signedDate: event.signedDate,
      receivedAt: event.receivedAt, body: event.body,
      bodySHA256: event.bodySHA256)
  }
}
