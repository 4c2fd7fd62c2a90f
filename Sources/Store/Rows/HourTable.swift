public import AppStore
public import Platform

/// How many events of one app, type, source and way of arriving were received in one hour.
public struct HourCount: Sendable, Hashable {
  /// The beginning of the hour, in milliseconds since 1970 UTC. In a projection, 0 for all hours
  /// that are `kept` or more before that of the last event.
  public let hour: Int64
  public let app: ProjectionReader.Counts.App
  public let notificationType: String
  public let source: EventSource
  public let arrival: EventArrival
  public let count: Int64
  /// The greatest seq among them.
  public let lastSeq: Int64

  /// Milliseconds: a little more than the 168 hours that can be asked for.
  public static let kept = 170 * JournalReader.hour
}

extension HourCount {
  /// - Parameter row: the columns of the table `hour`.
  init(_ row: Statement) {
    self.init(
      hour: row.int(0),
      app: .init(environment: Environment(rawValue: row.text(1)), bundleId: row.text(2)),
      notificationType: row.text(3), source: EventSource(rawValue: row.text(4)),
      arrival: EventArrival(rawValue: row.text(5)) ?? .posted, count: row.int(6),
      lastSeq: row.int(7))
  }
}

extension Projection {
  /// Adds events to the table of hours. Within `commit` or `addBuilt`.
  ///
  /// - Throws: the error of `close`, or what SQLite reports.
  public func add(_ counts: [HourCount]) throws(LedgerError) {
    let connection = try connection()
    for count in counts {
      try connection.statement(Self.addHour).bind(1, count.hour)
        .bind(2, count.app.environment.rawValue).bind(3, count.app.bundleId)
        .bind(4, count.notificationType).bind(5, count.source.rawValue)
        .bind(6, count.arrival.rawValue).bind(7, count.count).bind(8, count.lastSeq).run()
    }
    let bound = max(0, counts.map(\.hour).max() ?? 0) - HourCount.kept
    let isOver = try connection.statement("SELECT 1 FROM hour WHERE hour_ms BETWEEN 1 AND ?")
      .bind(1, bound).first { _ in true }
    guard isOver == true else { return }
    try connection.statement(Self.sumHours).bind(1, bound).run()
    try connection.statement("DELETE FROM hour WHERE hour_ms BETWEEN 1 AND ?").bind(1, bound).run()
  }

  private static let addHour = "INSERT INTO hour VALUES (?, ?, ?, ?, ?, ?, ?, ?) \(sum)"

  private static let sumHours = """
    INSERT INTO hour SELECT 0, environment, bundle_id, notification_type, source, arrival,
      sum(count), max(last_seq)
    FROM hour WHERE hour_ms BETWEEN 1 AND ? GROUP BY 2, 3, 4, 5, 6 \(sum)
    """

  private static let sum = """
    ON CONFLICT DO UPDATE
    SET count = count + excluded.count, last_seq = max(last_seq, excluded.last_seq)
    """
}

extension ProjectionReader {
  /// The events through `foldedThrough` by hour, the earliest first.
  ///
  /// - Throws: what SQLite reports.
  public func hours() throws(LedgerError) -> [HourCount] {
    try connection.statement("SELECT * FROM hour ORDER BY 1, 2, 3, 4, 5, 6").all(HourCount.init)
  }
}
