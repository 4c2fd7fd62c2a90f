import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// The questions of the page about finance, as they are printed there.
enum Finance {
  /// The queries of the page, in their order.
  static func queries() throws -> [String] {
    let start = "subledger query \""
    return try DocumentationPage.operating("finance").blocks.filter { $0.hasPrefix(start) }
      .map { String($0.dropFirst(start.count).dropLast()) }
  }

  /// The same in PostgreSQL.
  static func mirrorQueries() throws -> [String] {
    try DocumentationPage.operating("finance").blocks.filter { $0.hasPrefix("SELECT") }
  }

  static func time(_ text: String) throws -> Int64 {
    Int64(try Date("\(text)T00:00:00Z", strategy: .iso8601).timeIntervalSince1970 * 1000)
  }

  /// The lines of an answer: what is printed as an amount is in milliunits.
  static func answer(
    _ number: Int, _ installation: Installation, _ old: String = "",
    _ new: String = ""
  ) throws -> [String] {
    let query = try Self.queries()[number - 1].replacing(old.isEmpty ? "\u{0}" : old, with: new)
    let result = try installation.run("query", query, "--csv")
    guard result.code == 0 else { throw TestFailure("\(result)") }
    let text = try CSVText(result.output)
    return text.rows.map { row in
      text.columns.map { column in
        let value = row[column] ?? ""
        guard ["charged", "refunded", "net", "amount"].contains(column) else { return value }
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
