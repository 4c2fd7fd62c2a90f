import Audit
import Foundation
import StrictJSON
import Testing

/// What the App Store sends about one customer, and the rows it must give. The notation is that of
/// `Fixtures/README.txt`.
struct Scenario: Sendable, CustomTestStringConvertible {
  struct Event: Sendable {
    /// `V1` or `V2`.
    let version: String
    /// When Apple signed it; of V1, which has no signed date, when it is received. Milliseconds
    /// since 1970.
    let date: Int64
    let type: String
    let subtype: String?
    let status: Int64?
    let transactions: [ScenarioSyntax.Transaction]
    let renewal: ScenarioSyntax.Renewal?
    /// The expected row after it.
    let row: String
    let line: Int

    var originalTransactionId: String? { transactions.first?.originalTransactionId }
  }

  /// The expected row as of a date, when all events were received.
  struct Answer: Sendable {
    /// Milliseconds since 1970.
    let date: Int64
    let originalTransactionId: String
    let row: String
    let line: Int

    var givesAccess: Bool { row.hasPrefix("✓") }

    /// The status as the contract spells it; the text "no row" if there is no row.
    var status: String {
      let names = ["active", "grace period", "billing retry", "expired", "revoked"]
      let name = names.first { row.dropFirst(2).hasPrefix($0) }
      return name?.replacingOccurrences(of: " ", with: "_") ?? row
    }
  }

  var title: String
  var events: [Event] = []
  var answers: [Answer] = []

  var testDescription: String { title }

  /// A line that does not follow the notation.
  struct Unreadable: Error { let file: String, line: Int, why: String }

  /// All scenarios of a fixture file.
  static func all(_ file: String) throws -> [Scenario] {
    let url = Bundle.module.bundleURL.appendingPathComponent("Fixtures/\(file).txt")
    let text = try String(contentsOf: url, encoding: .utf8)
    var scenarios: [Scenario] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    {
      let number = index + 1
      do {
        if line.hasPrefix("== ") {
          scenarios.append(Scenario(title: String(line.dropFirst(3))))
        } else if line.hasPrefix("V1 ") || line.hasPrefix("V2 ") {
          scenarios[scenarios.count - 1].events.append(try event(String(line), number))
        } else if line.hasPrefix("at ") {
          scenarios[scenarios.count - 1].answers.append(try answer(String(line), number))
        }
      } catch {
        throw Unreadable(file: file, line: number, why: "\(error)")
      }
    }
    return scenarios
  }

  private static func columns(_ line: String) -> [String] {
    line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  private static func event(_ line: String, _ number: Int) throws -> Event {
    let columns = columns(String(line.dropFirst(3)))
    let version = String(line.prefix(2))
    guard columns.count == (version == "V1" ? 5 : 6) else { throw ScenarioSyntax.Unknown(line) }
    let names = columns[1].components(separatedBy: " / ")
    let rest = version == "V1" ? columns[2...] : columns[3...]
    let transactions = try rest[rest.startIndex].split(separator: ";")
      .map { $0.trimmingCharacters(in: .whitespaces) }.filter { $0 != "-" }
      .map(ScenarioSyntax.Transaction.init)
    let renewal = rest[rest.startIndex + 1]
    return Event(
      version: version, date: try ScenarioSyntax.date(columns[0]), type: names[0],
      subtype: names.count > 1 ? names[1] : nil,
      status: version == "V1" ? nil : Int64(columns[2]), transactions: transactions,
      renewal: renewal == "-" ? nil : try ScenarioSyntax.Renewal(renewal, transactions.first),
      row: rest[rest.startIndex + 2], line: number)
  }

  private static func answer(_ line: String, _ number: Int) throws -> Answer {
    let columns = columns(String(line.dropFirst(3)))
    let parts = columns[0].components(separatedBy: " of ")
    return Answer(
      date: try ScenarioSyntax.date(parts[0]),
      originalTransactionId: parts.count > 1 ? parts[1] : "1000",
      row: columns[1], line: number)
  }
}
