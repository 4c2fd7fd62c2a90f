import Platform
import Store

/// `report compare`: Apple's own reports beside the journal.
enum CompareCommand {
  static let name = "compare"

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let paths = arguments.operands.dropFirst()
    let only = arguments["--only"]
    let reasons = AppleComparison.reasons
    guard only.map(reasons.contains) ?? true else {
      throw .usage("--only takes one of: \(reasons.joined(separator: ", "))")
    }
    guard !paths.isEmpty else { throw .usage("missing argument: a report of Apple's") }
    let others = ["--sql", "--postgresql", "--compare"]
    for flag in Report.Parameter.allCases.map({ "--\($0.rawValue)" }) + others
    where arguments[flag] != nil || arguments.has(flag) {
      throw .usage("report compare takes no \(flag)")
    }
    let seconds = try QueryCommand.seconds(arguments)
    let cancellation = Cancellation()
    _ = Interruption.started(cancellation)
    return try QueryCommand.read(arguments, "report", seconds, cancellation) {
      (reader, limit) throws(LedgerError) in
      let comparison = try AppleComparison(reader, limit)
      var unread: Int64 = 0
      for path in paths {
        let report = try AppleReport(path, cancellation, comparison.add)
        try comparison.add(report)
        unread &+= report.otherUnits
      }
      let unexplained = try comparison.run()
      let isTable = !arguments.has("--json") && !arguments.has("--csv")
      _ = try QueryCommand.print(
        try comparison.lines(only, withPurchases: !isTable), limit, arguments)
      if isTable {
        Terminal.print("")
        _ = try QueryCommand.print(try comparison.totals(), limit, arguments)
        Terminal.print("\n\(CountText.of(unexplained, "lines")) unexplained")
      }
      if unread != 0 { Terminal.error("not compared: \(unread) units that are free, or apps") }
      return unexplained == 0 ? .good : .findings
    }
  }
}
