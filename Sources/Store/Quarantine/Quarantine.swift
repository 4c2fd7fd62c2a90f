import AppStore
public import Platform

/// Writes the quarantine: genuine notifications that are not admitted (promise 2).
extension Journal {
  /// The largest number of stored notifications of apps that are not configured, and of those that
  /// name no app. Further ones are only counted, because any developer can send genuine
  /// notifications of their own apps.
  public static let quarantineLimit = 10_000

  /// Stores a notification unless it is there or the limit is reached. Called within `write`.
  func quarantine(
    _ item: NewQuarantine, _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome {
    guard try quarantined(ComparedContent(item), connection).isEmpty else {
      return .quarantined(item.reason, isNew: false)
    }
    if item.owner != .ours, quarantineSizes[item.owner, default: 0] >= Self.quarantineLimit {
      return .quarantineFull(item.reason)
    }
    let stored = try codec.encode(item.body, trainsDictionary: false)
    let statement = try connection.statement(
      """
      INSERT INTO quarantine (reason, is_foreign, source, notification_uuid, environment, bundle_id,
        notification_type, signed_date_ms, received_at_ms, body_sha256, dictionary_id, body,
        original_transaction_id)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    statement.bind(1, item.reason).bind(2, item.owner == .foreign ? 1 : 0)
      .bind(3, item.source.rawValue)
      .bind(4, item.claims.notificationUUID?.description)
      .bind(5, item.claims.environment?.rawValue).bind(6, item.claims.bundleId)
      .bind(7, item.claims.notificationType).bind(8, item.claims.signedDate)
      .bind(9, min(item.receivedAt, receiveLimit)).bind(10, item.bodySHA256)
      .bind(11, stored.dictionary).bind(12, stored.bytes)
      .bind(13, item.claims.originalTransactionId)
    try statement.run()
    try RunningDigest.quarantine.add([connection.lastRowId], connection)
    quarantineSizes[item.owner, default: 0] += 1
    return .quarantined(item.reason, isNew: true)
  }

  /// The notifications that are compared at most: of one UUID, Apple has one content.
  private static let comparedLimit = 16

  /// The ids of stored notifications with this content: those of its UUID, and without a UUID those
  /// with its body.
  private func quarantined(
    _ content: ComparedContent, _ connection: SQLiteConnection
  ) throws(LedgerError) -> [Int64] {
    // Two searches of indexes.
    let found = try connection.statement(
      """
      SELECT body_sha256, source, body, dictionary_id, id FROM quarantine
      WHERE notification_uuid = ?1 OR (notification_uuid IS NULL AND body_sha256 = ?2)
      LIMIT \(Self.comparedLimit)
      """
    ).bind(1, content.notificationUUID?.description).bind(2, content.bodySHA256).all { row in
      (id: row.int(4), stored: StoredContent(row))
    }
    var ids: [Int64] = []
    for item in found where try isSame(item.stored, as: content) { ids.append(item.id) }
    return ids
  }

  /// Removes a notification from quarantine that is journaled, or held beside the journal.
  func release(
    _ content: ComparedContent, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    // Mostly the quarantine is empty, and every event would search it.
    guard quarantineSizes.values.contains(where: { $0 > 0 }) else { return }
    for id in try quarantined(content, connection) { try remove(id, connection) }
  }

  /// Returns whether there was one with this id.
  @discardableResult
  private func remove(_ id: Int64, _ connection: SQLiteConnection) throws(LedgerError) -> Bool {
    try RunningDigest.quarantine.remove([id], connection)
    let owner = try connection.statement(
      "DELETE FROM quarantine WHERE id = ? RETURNING \(Self.ownerColumn)"
    ).bind(1, id).first { Self.owner($0.int(0)) }
    if let owner { quarantineSizes[owner, default: 0] -= 1 }
    return owner != nil
  }

  /// Counts a row that is there, before it is removed or after it was added.
  func countQuarantined(
    _ id: Int64, _ change: Int, _ connection: SQLiteConnection
  ) throws(LedgerError) {
    let owner = try connection.statement("SELECT \(Self.ownerColumn) FROM quarantine WHERE id = ?")
      .bind(1, id).first { Self.owner($0.int(0)) }
    if let owner { quarantineSizes[owner, default: 0] += change }
  }

  /// The owner as a number. A program without this distinction stored those without a name as
  /// foreign.
  private static let ownerColumn = """
    CASE WHEN bundle_id IS NULL AND source <> 'v1' THEN 2 ELSE is_foreign END
    """

  private static func owner(_ number: Int64) -> NewQuarantine.Owner {
    switch number {
    case 1: .foreign
    case 2: .unnamed
    default: .ours
    }
  }

  /// How many are stored of each owner.
  static func quarantineSizes(
    _ connection: SQLiteConnection
  ) throws(LedgerError) -> [NewQuarantine.Owner: Int] {
    let counts = try connection.statement(
      "SELECT \(ownerColumn) AS owner, count(*) FROM quarantine GROUP BY owner"
    ).all { (owner($0.int(0)), Int($0.int(1))) }
    return Dictionary(counts, uniquingKeysWith: +)
  }

  /// Removes notifications, in one SQL transaction.
  ///
  /// - Parameter ship: needed in a copy of a shared journal.
  /// - Returns: how many of them were there.
  /// - Throws: what SQLite reports. A fatal error ends the journal.
  public func removeQuarantined(
    _ ids: [Int64], shipping ship: Shipper<Int>? = nil
  ) throws(LedgerError) -> Int {
    try write(shipping: ship) { (connection) throws(LedgerError) in
      var count = 0
      for id in ids where try remove(id, connection) { count += 1 }
      return count
    }
  }

  /// The number of notifications that were only counted.
  ///
  /// - Throws: the error that has ended the journal, or what SQLite reports.
  public func quarantineOverflow() throws(LedgerError) -> Int64 {
    try Meta(connection: connection()).int(.foreignOverflow) ?? 0
  }
}

extension NewQuarantine {
  /// A genuine notification whose UUID was journaled first with other content.
  init(conflict event: NewEvent) {
    self.init(
      reason: "conflict", owner: .ours, source: event.source,
      claims: QuarantineClaims(
        notificationUUID: event.notificationUUID, environment: event.environment,
        bundleId: event.bundleId, notificationType: event.notificationType,
        originalTransactionId: event.originalTransactionId, signedDate: event.signedDate),
      receivedAt: event.receivedAt, body: event.body, bodySHA256: event.bodySHA256)
  }
}
