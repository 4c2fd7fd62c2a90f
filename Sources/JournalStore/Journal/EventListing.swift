extension JournalReader {
  /// Up to `limit` events past a seq that match, in order.
  public func events(
    matching filter: EventFilter, after seq: Int64, limit: Int
  ) throws(StoreError) -> [StoredEvent] {
    let terms = filter.terms
    let sql =
      EventRow.select + "WHERE e.seq > ?" + terms.map { " AND " + $0.sql }.joined()
      + " ORDER BY e.seq LIMIT ?"
    let statement = try connection.statement(sql)
    // Receive times never fall along seq: what lies before the range is skipped by halving.
    let first = filter.received?.lowerBound
    var start = seq
    if let first { start = max(seq, try firstSeq(receivedFrom: first) - 1) }
    statement.bind(1, start)
    var place: Int32 = 2
    for term in terms {
      for value in term.values {
        switch value {
        case .text(let text): statement.bind(place, text)
        case .number(let number): statement.bind(place, number)
        }
        place += 1
      }
    }
    return try statement.bind(place, Int64(limit)).all(readable)
  }

  /// The first seq received at this time or later; one past the head where there is none.
  public func firstSeq(receivedFrom time: Int64) throws(StoreError) -> Int64 {
    var low: Int64 = 1
    var high = try head().seq + 1
    while low < high {
      let middle = low + (high - low) / 2
      let received = try connection.statement("SELECT received_at_ms FROM event WHERE seq = ?")
        .bind(1, middle).first { $0.int(0) }
      if let received, received < time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Quarantine past an id, in order.
  public func quarantined(after id: Int64 = 0, limit: Int) throws(StoreError) -> [StoredQuarantine]
  {
    try connection.statement(Self.quarantineSelect + "WHERE id > ? ORDER BY id LIMIT ?")
      .bind(1, id).bind(2, Int64(limit)).all(quarantineRow).inOrder(after: id) { $0.id }
  }

  public func quarantined(id: Int64) throws(StoreError) -> StoredQuarantine? {
    try connection.statement(Self.quarantineSelect + "WHERE id = ?").bind(1, id)
      .first(quarantineRow)
  }

  /// How many are in quarantine, and how many other apps' were only counted.
  public func quarantineCounts() throws(StoreError) -> (kept: Int64, overflow: Int64) {
    let kept = try connection.statement("SELECT count(*) FROM quarantine").first { $0.int(0) }
    return (kept ?? 0, try Meta(connection: connection).int(.foreignOverflow) ?? 0)
  }

  private static let quarantineSelect = """
    SELECT id, reason, is_foreign, source, notification_uuid, environment, bundle_id,
      notification_type, signed_date_ms, received_at_ms, body_sha256, body, dictionary_id
    FROM quarantine

    """

  func quarantineRow(_ row: Statement) throws(StoreError) -> StoredQuarantine {
    // Of one that cannot be recovered the rest still shows, and its hash says that it was changed.
    let body = try body(row.bytes(11), row.optionalInt(12)) ?? []
    return StoredQuarantine(
      id: row.int(0), reason: row.text(1), isForeign: row.int(2) == 1, source: row.text(3),
      notificationUUID: row.optionalText(4), environment: row.optionalText(5),
      bundleId: row.optionalText(6), notificationType: row.optionalText(7),
      signedDate: row.optionalInt(8), receivedAt: row.int(9), body: body,
      bodySHA256: row.bytes(10))
  }
}

extension EventFilter {
  enum Value {
    case text(String)
    case number(Int64)
  }

  /// Fixed pieces of SQL; every value is a parameter.
  var terms: [(sql: String, values: [Value])] {
    var terms: [(sql: String, values: [Value])] = []
    func add(_ sql: String, _ text: String?) {
      if let text { terms.append((sql, [.text(text)])) }
    }
    func add(_ sql: String, _ range: ClosedRange<Int64>?) {
      if let range {
        terms.append((sql, [.number(range.lowerBound), .number(range.upperBound)]))
      }
    }
    add("k.notification_type = ?", notificationType)
    add("k.subtype = ?", subtype)
    add("e.source = ?", source)
    add("a.environment = ?", environment)
    add("a.bundle_id = ?", bundleId)
    add(
      "e.stream_id IN (SELECT id FROM stream WHERE original_transaction_id = ?)",
      originalTransactionId)
    add("e.received_at_ms BETWEEN ? AND ?", received)
    add("e.signed_date_ms BETWEEN ? AND ?", signed)
    return terms
  }
}
