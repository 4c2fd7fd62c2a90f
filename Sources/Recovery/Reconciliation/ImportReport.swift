import Ledger
import Store
public import StrictJSON

/// What an import found.
public struct ImportReport: Sendable {
  /// Lines of the file that have no id.
  public var invalid: [Int] = []
  /// Ids of the file.
  public internal(set) var ids = 0
  /// Ids that an interrupted run had done already.
  public internal(set) var doneBefore = 0
  /// Customers that Apple knows, by environment.
  public internal(set) var found: [String: Int] = [:]
  /// Ids that Apple does not know.
  public internal(set) var unknown: [String] = []
  /// Ids that could not be asked for.
  public internal(set) var failed: [String] = []
  /// Customers of whom Apple said nothing new.
  public internal(set) var complete = 0
  public internal(set) var journaled = 0
  public internal(set) var confirmed = 0
  /// Purchases that accounts of the owner have, which was not known.
  public internal(set) var claims = 0
  /// By code.
  public internal(set) var refused: [String: Int] = [:]
  /// Customers that the journal can answer for, at the end.
  public var customers: Int64 = 0
  /// Why the import ended early; nil if it came to its end.
  public internal(set) var failure: String?
  public internal(set) var isCancelled = false

  public var hasFindings: Bool {
    !unknown.isEmpty || !refused.isEmpty || !invalid.isEmpty
  }

  /// - Returns: whether nothing was new.
  mutating func count(_ outcomes: [Outcome]) -> Bool {
    var isComplete = true
    for outcome in outcomes {
      if case .accepted = outcome {
        journaled += 1
        isComplete = false
      } else if let code = outcome.refusal?.code {
        refused[code, default: 0] += 1
      } else {
        confirmed += 1
      }
    }
    return isComplete
  }

  /// At most this many ids are listed.
  private static let mostListed = 1_000

  public var json: JSONValue {
    func counts(_ values: [String: Int]) -> JSONValue {
      .object(values.sorted { $0.key < $1.key }.map { ($0.key, .integer(Int64($0.value))) })
    }
    func list(_ ids: [String]) -> JSONValue {
      .object([
        ("count", .integer(Int64(ids.count))),
        ("ids", .array(ids.prefix(Self.mostListed).map(JSONValue.string))),
      ])
    }
    return .object([
      ("object", .string("import")), ("ids", .integer(Int64(ids))),
      ("done_before", .integer(Int64(doneBefore))), ("found", counts(found)),
      ("unknown", list(unknown)), ("failed", list(failed)),
      ("complete", .integer(Int64(complete))), ("journaled", .integer(Int64(journaled))),
      ("confirmed", .integer(Int64(confirmed))), ("claims", .integer(Int64(claims))),
      ("refused", counts(refused)),
      ("invalid_lines", .array(invalid.prefix(Self.mostListed).map { .integer(Int64($0)) })),
      ("customers", .integer(customers)),
    ])
  }
}
