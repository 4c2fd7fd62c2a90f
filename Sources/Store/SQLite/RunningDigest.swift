import Platform

/// The count and the digest of rows that no hash chain covers. Both are in `meta`, and are
/// changed in the SQL transaction that changes the rows, so that `verify` notices rows that were
/// added, changed or removed in another way (promises 2 and 5).
///
/// A journal of an older program gets them when it is opened.
struct RunningDigest {
  let count: Meta.Key
  let digest: Meta.Key
  /// Selects one text for each row.
  private let select: String
  /// The column that a row is found by.
  private let key: String

  /// All columns that do not change while a notification is in quarantine. The body is covered by
  /// its hash.
  static let quarantine = RunningDigest(
    count: .quarantineCount, digest: .quarantineDigest,
    select: select(
      [
        "id", "reason", "is_foreign", "source", "notification_uuid", "environment", "bundle_id",
        "notification_type", "signed_date_ms", "received_at_ms", "body_sha256",
      ], from: "quarantine"), key: "id")

  /// All columns of held evidence. The body is covered by its hash.
  static let held = RunningDigest(
    count: .heldCount, digest: .heldDigest,
    select: select(
      [
        "id", "notification_uuid", "source", "stream_id", "transaction_id", "signed_date_ms",
        "received_at_ms", "body_sha256", "arrival",
      ], from: "held_evidence"), key: "id")

  /// The apps of V1 events and of renewal information from `v1_from` on. A V1 body need not name
  /// its app: the secret did, and it is not stored. Renewal information never does.
  static let v1Apps = RunningDigest(
    count: .v1Count, digest: .v1Digest,
    select: select(
      ["event.seq", "app.environment", "app.bundle_id"],
      from: "event JOIN stream ON stream.id = event.stream_id JOIN app ON app.id = stream.app_id"),
    key: "event.seq")

  /// How events arrived: sinks choose by it.
  static let arrivals = RunningDigest(
    count: .arrivalCount, digest: .arrivalDigest, select: select(["seq", "how"], from: "arrival"),
    key: "seq")

  /// How often notifications came again.
  static let redeliveries = RunningDigest(
    count: .redeliveryCount, digest: .redeliveryDigest,
    select: select(["seq", "count", "first_at_ms", "last_at_ms"], from: "redelivery"), key: "seq")

  /// What customers have by name: a table of `customers.sqlite`.
  static let customers = RunningDigest(
    count: .customerCount, digest: .customerDigest,
    select: select(
      [
        "environment", "bundle_id", "customer_by", "customer", "name", "active", "basis",
        "since_ms", "expires_at_ms", "product_id", "original_transaction_id", "next_ms", "trial",
        "revision",
      ], from: "entitlement"), key: "revision")

  /// Type and bytes of each column: no two rows have the same text.
  private static func select(_ columns: [String], from tables: String) -> String {
    let text = columns.map { "typeof(\($0)) || hex(\($0))" }.joined(separator: " || ',' || ")
    return "SELECT \(text) FROM \(tables)"
  }

  typealias Value = (count: Int64, digest: SetDigest)

  /// Computes both from the rows.
  ///
  /// - Parameter condition: which rows, in SQL.
  func compute(
    over condition: String = "TRUE", _ connection: SQLiteConnection
  ) throws(LedgerError) -> Value {
    var value: Value = (0, SetDigest())
    _ = try connection.statement("\(select) WHERE \(condition)").all { row in
      value.count += 1
      value.digest.add(element: Array(row.text(0).utf8))
    }
    return value
  }

  /// What `meta` has; nil if it has one of them at most, or not in their form.
  func stored(_ connection: SQLiteConnection) throws(LedgerError) -> Value? {
    let meta = Meta(connection: connection)
    guard let count = try meta.int(count),
      let digest = try meta.bytes(digest).flatMap({ SetDigest($0) })
    else { return nil }
    return (count, digest)
  }

  func store(_ value: Value, _ connection: SQLiteConnection) throws(LedgerError) {
    let meta = Meta(connection: connection)
    try meta.set(count, value.count)
    try meta.set(digest, value.digest.bytes)
  }

  /// Adds rows that were inserted.
  func add(_ ids: [Int64], _ connection: SQLiteConnection) throws(LedgerError) {
    try change(ids, by: 1, connection) { $0.add(element: $1) }
  }

  /// Removes rows that are to be changed or deleted.
  func remove(_ ids: [Int64], _ connection: SQLiteConnection) throws(LedgerError) {
    try change(ids, by: -1, connection) { $0.remove(element: $1) }
  }

  private func change(
    _ ids: [Int64], by number: Int64, _ connection: SQLiteConnection,
    _ change: (inout SetDigest, [UInt8]) -> Void
  ) throws(LedgerError) {
    guard !ids.isEmpty, var value = try stored(connection) else { return }
    for id in ids {
      guard let row = try row(id, connection) else { continue }
      value.count += number
      change(&value.digest, row)
    }
    try store(value, connection)
  }

  private func row(_ id: Int64, _ connection: SQLiteConnection) throws(LedgerError) -> [UInt8]? {
    try connection.statement("\(select) WHERE \(key) = ?").bind(1, id)
      .first { Array($0.text(0).utf8) }
  }

  /// Stores what a journal does not have yet.
  static func start(_ connection: SQLiteConnection, head: Int64) throws(LedgerError) {
    let meta = Meta(connection: connection)
    if try meta.bytes(.quarantineDigest) == nil {
      try quarantine.store(try quarantine.compute(connection), connection)
    }
    if try meta.bytes(.heldDigest) == nil {
      try held.store(try held.compute(connection), connection)
    }
    // A program that does not know them writes the generation alone, and may have written rows.
    let known = try meta.int(.digestsGeneration)
    let generation = try meta.int(.generation)
    if known == nil || known != generation {
      for digest in [arrivals, redeliveries] {
        try digest.store(try digest.compute(connection), connection)
      }
    }
    // Not of the events before: finding them takes as long as reading the whole journal.
    if try meta.bytes(.v1Digest) == nil {
      try meta.set(.v1From, head + 1)
      try v1Apps.store((0, SetDigest()), connection)
    }
  }
}
