import AppStore
import Entitlements
import Queries
import Store
import StrictJSON
import Support

/// A ledger of one customer whose purchases are written in scenario notation, and that customer's
/// entitlements as text.
struct CustomerLedger {
  static let token = "00000000-0000-4000-8000-00000000a11c"
  private static let members: [String: JSONValue] = [
    "appAccountToken": .string(token), "appTransactionId": .string("700001"),
  ]

  var scenario: ScenarioLedger
  var catalog = EntitlementCatalog()

  /// - Parameters:
  ///   - entitlements: the products of each name.
  ///   - leeway: the hours of each name's leeway.
  init(
    _ entitlements: [String: [String]], leeway: Int64 = 0, durations: [String: String] = [:],
    apps: [String] = []
  ) throws {
    scenario = try ScenarioLedger(apps: apps, durations: durations)
    for (name, products) in entitlements {
      catalog.add(
        name, NamedEntitlement(products: products, accessLeeway: leeway * 3_600_000), for: nil)
    }
  }

  /// Sends a notification about the customer.
  mutating func send(
    _ type: String, _ signed: String, _ transaction: String, renewal: String? = nil,
    status: Int64 = 1, received: String? = nil, bundleId: String = TestLedger.bundleId,
    more: [String: JSONValue] = [:]
  ) throws {
    try scenario.send(
      type, signed: signed, received: received ?? signed, transaction, renewal: renewal,
      status: status, bundleId: bundleId, more: Self.members.merging(more) { $1 })
  }

  func customer(
    _ id: String = token, _ kind: LedgerReader.CustomerQuestion.IdKind = .appAccountToken,
    now: String = "30-01-01", asOf: String? = nil, knownAt: String? = nil,
    environment: Environment = .production, bundleId: String? = nil
  ) throws -> CustomerDocument {
    try scenario.ledger.reader().customer(
      LedgerReader.CustomerQuestion(
        id, kind, environment, bundleId: bundleId, catalog, apps: []),
      LedgerReader.Question(
        asOf: try asOf.map(ScenarioSyntax.date), knownAt: try knownAt.map(ScenarioSyntax.date),
        now: try ScenarioSyntax.date(now)))
  }

  /// An entitlement as `paid basic.m 1000 until 25-02-01, renews; no from 25-02-01`.
  func text(_ name: String, now: String, asOf: String? = nil) throws -> String {
    let answers = try customer(now: now, asOf: asOf).entitlements
    return answers.first { $0.name == name }.map { Self.text($0.answer) } ?? "not answered"
  }

  /// Why an entitlement is not active, as `ended pro.m 1000 25-02-01`.
  func reason(_ name: String, now: String) throws -> String? {
    let absence = try customer(now: now).entitlements.first { $0.name == name }?.answer.absence
    return absence.map { absence in
      ([
        absence.reason.rawValue, absence.productId, absence.key?.originalTransactionId,
        absence.endedAt.map { ScenarioSyntax.text($0) },
      ] as [String?]).compactMap { $0 }.joined(separator: " ")
    }
  }

  static func text(_ answer: NamedAnswer) -> String {
    var text = "no"
    if let access = answer.access {
      text =
        "\(access.basis.rawValue) \(access.productId ?? "–") "
        + (access.key?.originalTransactionId ?? "")
      text += access.expiresAt.map { " until \(ScenarioSyntax.text($0))" } ?? " for ever"
      if access.willRenew { text += ", renews" }
    }
    guard let next = answer.next else { return text }
    return text + "; \(next.isActive ? "yes" : "no") from \(ScenarioSyntax.text(next.at))"
  }
}
