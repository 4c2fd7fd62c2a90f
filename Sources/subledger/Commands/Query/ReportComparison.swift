import Ledger
import Platform
import Store

/// `report --compare`: which lines are others than at an earlier moment, which purchases make the
/// difference, and what was received of them between.
struct ReportComparison {
  let report: Report
  let values: [Report.Parameter: String]
  let arguments: Arguments
  /// For each of the four reads.
  let seconds: Int64
  let cancellation: Cancellation

  /// - Parameter time: the earlier moment, in milliseconds since 1970.
  func run(since time: Int64) throws(LedgerError) -> ExitCode {
    guard !arguments.has("--csv") else {
      throw .usage("--compare prints tables, or lines of JSON with --json")
    }
    guard try time < PastRows.moment(arguments) ?? Clock.now() else {
      throw .usage("--compare takes a time before that of --known-at, or before now")
    }
    QueryReader.limitMemory()
    let folder = try arguments.readableFolder()
    defer { try? PastProjection.limitKept(folder) }
    let former = try PastRows(at: time, asOf: time, arguments, cancellation)
    let past = try PastRows(arguments, cancellation)
    do throws(LedgerError) {
      let reader =
        if let past { past.reader } else { try QueryReader.open(folder) }
      try show(former, reader)
    } catch {
      throw past?.discarded(after: former.discarded(after: error)) ?? error
    }
    return .good
  }

  private func show(_ former: PastRows, _ reader: QueryReader) throws(LedgerError) {
    let (before, after) = (
      try former.reader.prepare(report, values), try reader.prepare(report, values)
    )
    let (old, new) = (try rows(before), try rows(after))
    let lines =
      Self.missing(old, in: new).map { [.text("before")] + $0 }
      + Self.missing(new, in: old).map { [.text("after")] + $0 }
    let (purchases, events) = try reader.differences(from: former.past)
    print("line", "Lines of the report that differ", ["side"] + after.columns, lines)
    print("purchase", "Purchases that differ", purchases.columns, try rows(purchases))
    print("event", "What was received of them between", events.columns, try rows(events))
  }

  private func rows(_ query: Query) throws(LedgerError) -> [[QueryValue]] {
    var rows: [[QueryValue]] = []
    try query.run(QueryCommand.limit("report", seconds, cancellation)) { row in
      rows.append(row)
      return true
    }
    return rows
  }

  /// The rows that others lack, each as often.
  private static func missing(
    _ rows: [[QueryValue]], in others: [[QueryValue]]
  ) -> [[QueryValue]] {
    var counts = others.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    return rows.filter { row in
      guard let count = counts[row], count > 0 else { return true }
      counts[row] = count - 1
      return false
    }
  }

  private func print(
    _ kind: String, _ title: String, _ columns: [String], _ rows: [[QueryValue]]
  ) {
    if arguments.has("--json") {
      var lines = QueryLines(.json, ["kind"] + columns)
      for row in rows { lines.add([.text(kind)] + row) }
      return lines.flush()
    }
    Terminal.print("\(title): \(rows.isEmpty ? "none" : "\(rows.count)")")
    guard !rows.isEmpty else { return }
    var table = QueryTable(columns)
    for row in rows where !table.add(row) { break }
    table.print()
    if table.isCut { Terminal.error("there are more than a table holds; --json prints all") }
    Terminal.print("")
  }
}
