import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import StrictJSON

/// `customer`: what one customer may use by name.
enum CustomerCommand {
  private typealias IdKind = LedgerReader.CustomerQuestion.IdKind

  static let flags: [Command.Flag] = [
    .init(
      "--by", "KIND", "what the ID is: \(kinds); app_account_token by default"),
    .environment, .init("--bundle-id", "ID", "only rows of this app"), .asOf, .knownAt, .knowledge,
    .init("--mapping", "now", "answer about the past by the mapping of products in force now"),
    .json,
  ]

  private static let kinds = IdKind.allCases.map(\.rawValue).joined(separator: ", ")

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let id = try arguments.operand("a customer's id")
    guard let kind = IdKind(rawValue: arguments["--by"] ?? IdKind.appAccountToken.rawValue) else {
      throw .usage("--by takes one of \(kinds)")
    }
    guard kind != .appAccountToken || NotificationUUID(id) != nil else {
      throw .usage("an app account token is a UUID; --by says what else the id is")
    }
    let question = try QueryOptions.question(arguments)
    let environment = try arguments.environment() ?? .production
    let bundleId = arguments["--bundle-id"]
    let configuration = try arguments.configuration()
    let reader = try QueryOptions.reader(configuration)
    let apps = configuration.apps.keys.filter { bundleId ?? $0 == $0 }
    var asked = LedgerReader.CustomerQuestion(
      id, kind, environment, bundleId: bundleId, configuration.entitlements, apps: apps)
    asked.usesPresentMapping = arguments["--mapping"] != nil
    guard ["now", nil].contains(arguments["--mapping"]) else { throw .usage("--mapping takes now") }
    let customer = try reader.customer(asked, question)
    Terminal.print(customer.json, or: text(customer), arguments)
    return customer.isKnown ? .good : .findings
  }

  /// A line for each entitlement, then one for each row.
  private static func text(_ customer: CustomerDocument) -> String {
    guard customer.isKnown else {
      let elsewhere = customer.entitlements.first.map { "; " + words($0.answer, customer) } ?? ""
      return "nothing is known under this id in \(customer.environment)\(elsewhere)"
    }
    var lines = customer.entitlements.map { name, answer in
      name.padded(to: 26) + words(answer, customer)
    }
    if lines.isEmpty {
      lines.append("no entitlement is configured; see: subledger help configuration")
    }
    if !customer.rows.isEmpty { lines.append("") }
    for row in customer.rows {
      lines.append(
        row.key.originalTransactionId.padded(to: 26)
          + VisibleText.of(row.entitlement.productId ?? "–") + "  "
          + row.entitlement.status.rawValue
          + (row.entitlement.expiresAt.map { "  until \(Timestamp.text($0))" } ?? ""))
    }
    return lines.joined(separator: "\n")
  }

  /// Why there is no access.
  private static func words(_ absence: NamedAnswer.Absence) -> String {
    let product = absence.productId.map { " (\(VisibleText.of($0)))" } ?? ""
    let time = absence.endedAt.map { " \(Timestamp.text($0))" } ?? ""
    switch absence.reason {
    case .neverBought: return "no: nothing that gives it was bought"
    case .ended: return "no: ended\(time)\(product)"
    case .refunded: return "no: refunded\(time)\(product)"
    case .billingRetry:
      return "no: Apple cannot charge the customer; paid until\(time)\(product)"
    case .unmapped:
      return
        "no: \(VisibleText.of(absence.productId ?? "–")) gives none of these; see entitlements "
        + "in the configuration"
    case .otherEnvironment: return "it is known in the other environment: --environment says which"
    case .otherApp: return "it is known in another app: --bundle-id says which"
    case .unknown: return "that is not a no: Apple may not have told of the customer yet"
    }
  }

  /// The basis; of a free trial, what comes after it.
  private static func basis(
    _ access: NamedAnswer.Access, _ customer: CustomerDocument
  ) -> String {
    guard access.isTrial else { return access.basis.rawValue }
    let row = customer.rows.first { $0.key == access.key }
    guard access.willRenew, let price = row?.json["renewal_price"],
      case .integer(let milliunits)? = price["milliunits"]
    else { return "free trial" }
    var currency: String?
    if case .string(let text)? = price["currency"] { currency = text }
    return "free trial, then \(MoneyText.amount(milliunits, currency))"
  }

  private static func words(_ answer: NamedAnswer, _ customer: CustomerDocument) -> String {
    var text = "no"
    if let absence = answer.absence { text = words(absence) }
    if let access = answer.access {
      text =
        "yes (\(basis(access, customer)))"
        + (access.expiresAt.map { " until \(Timestamp.text($0))" } ?? "")
        + (access.willRenew ? ", renews" : "")
        + (access.productId.map { ", by \(VisibleText.of($0))" } ?? "")
    }
    guard let next = answer.next else { return text }
    return text + "; by time alone \(next.isActive ? "yes" : "no") from \(Timestamp.text(next.at))"
  }
}
