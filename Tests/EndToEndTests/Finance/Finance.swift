import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// The reports, numbered as on the page about finance.
enum Finance {
  static let reports = [
    "charges", "refunds", "net", "trials", "due", "subscriptions", "ended", "at-risk", "changes",
    "customer", "recurring", "retention", "refund-rate", "daily-trials",
  ]

  /// The arguments of a report.
  ///
  /// - Parameter value: the day, the month or the customer; empty for what is usual.
  static func arguments(_ number: Int, _ value: String) -> [String] {
    let flag = [6: "--day", 7: "--month", 10: "--customer", 11: "--day"][number] ?? "--month"
    return ["report", reports[number - 1]] + (value.isEmpty ? [] : [flag, value])
  }

  static func time(_ text: String) throws -> Int64 {
    Int64(try Date("\(text)T00:00:00Z", strategy: .iso8601).timeIntervalSince1970 * 1000)
  }

  private static let amounts = ["charged", "refunded", "net", "amount", "monthly"]

  /// The lines of an answer: what is printed as an amount is in milliunits.
  static func answer(
    _ number: Int, _ installation: Installation, _ value: String = ""
  ) throws -> [String] {
    let result = try installation.run(arguments(number, value) + ["--csv"])
    guard result.code == 0 else { throw TestFailure("\(result)") }
    let text = try CSVText(result.output)
    return text.rows.map { row in
      text.columns.map { column in
        let value = row[column] ?? ""
        guard amounts.contains(column) else { return value }
        // A sum is empty where no price is known.
        return String(Int64(((Double(value) ?? 0) * 1000).rounded()))
      }.joined(separator: " ")
    }.sorted()
  }

  static func ingest(_ payloads: [(JSONValue, Int64)], _ installation: Installation) throws {
    let lines = try payloads.sorted { $0.1 < $1.1 }.map { payload, time in
      Array("{\"received_at_ms\":\(time),\"body\":".utf8) + (try installation.sign(payload)) + [
        0x7D
      ]
    }
    // In parts, each of which takes some seconds.
    for first in stride(from: 0, to: lines.count, by: 20_000) {
      let part = Array(lines[first..<min(first + 20_000, lines.count)])
      let finished = try installation.run("ingest", try installation.file("books", part))
      #expect(finished.code == 0, "\(finished)")
    }
  }

  /// A number is printed with another count of decimals by each database.
  static func cell(_ text: String) -> String {
    Double(text).map { String(Int64(($0 * 1000).rounded())) } ?? text
  }

  /// When the month of a time began.
  static func monthStart(_ time: Int64) -> Int64 {
    var utc = Calendar(identifier: .gregorian)
    utc.timeZone = .gmt
    let date = Date(timeIntervalSince1970: Double(time) / 1000)
    return Int64((utc.dateInterval(of: .month, for: date)?.start ?? date).timeIntervalSince1970)
      * 1000
  }
}
