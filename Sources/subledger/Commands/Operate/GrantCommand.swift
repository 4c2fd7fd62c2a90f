import AppStore
import Entitlements
import Ledger
import Platform
import Store
import StrictJSON

/// `grant`: gives a customer an entitlement without a purchase, or ends that.
enum GrantCommand {
  static let flags: [Command.Flag] = [
    .init("--by", "KIND", "what the ID is: \(kinds); app_account_token by default"),
    .init("--entitlement", "NAME", "what is granted: a name of the configuration"),
    .init("--until", "T", "when it ends; never by default"),
    .init("--reason", "TEXT", "why, for people; it stays in the journal for ever"),
    .init("--revoke", "GRANT", "end this grant instead"), .environment,
    .init("--bundle-id", "ID", "the app; needed only if several are configured"), .json,
  ]

  private static let kinds = CustomerName.Kind.allCases.map(\.rawValue).joined(separator: ", ")

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let configuration = try arguments.configuration()
    let apps = configuration.apps.keys.sorted()
    guard let app = arguments["--bundle-id"] ?? (apps.count == 1 ? apps.first : nil) else {
      guard !apps.isEmpty else {
        throw .usage("no app is configured; give the right --config, or name one with --bundle-id")
      }
      throw .usage("--bundle-id says which app it is for: \(apps.joined(separator: ", "))")
    }
    let statement = NewStatement(
      try content(arguments, configuration.entitlements.names(in: [app])),
      of: try customer(arguments), environment: try arguments.environment() ?? .production,
      bundleId: app, token: "command", receivedAt: Clock.now())
    let folder = try arguments.journalFolder()
    let ledger = try LocalLedger(folder, configuration)
    defer { ledger.stop() }
    let isNew = try ledger.say(statement)
    let outcome = isNew ? "accepted" : "duplicate"
    let grant = try grant(statement, folder)
    Terminal.print(
      .object([("outcome", .string(outcome)), ("grant", .optional(grant))]),
      or: words(statement.content, isNew) + (grant.map { "; its id is \($0)" } ?? ""), arguments)
    return .good
  }

  /// The id of the grant that a statement made, by which it is ended; nil for another statement.
  private static func grant(
    _ statement: NewStatement, _ folder: DataFolder
  ) throws(LedgerError) -> String? {
    guard case .grant = statement.content else { return nil }
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    guard let customer = statement.customer, let mac = try journal.mac(of: customer) else {
      return nil
    }
    return try journal.statements(about: mac, receivedThrough: .max)
      .last { $0.statement.content == statement.content }?.statement.id
  }

  private static func customer(_ arguments: Arguments) throws(LedgerError) -> CustomerName {
    let id = try arguments.operand("a customer's id")
    let word = arguments["--by"] ?? CustomerName.Kind.appAccountToken.rawValue
    guard let kind = CustomerName.Kind(rawValue: word) else {
      throw .usage("--by takes one of \(kinds)")
    }
    guard kind == .appAccountToken else {
      guard CustomerName.isValid(id) else { throw .usage("this cannot be a customer's id") }
      return CustomerName(kind, id)
    }
    guard let uuid = NotificationUUID(id) else {
      throw .usage("an app account token is a UUID; --by says what else the id is")
    }
    return CustomerName(kind, uuid.description)
  }

  private static func content(
    _ arguments: Arguments, _ names: [String]
  ) throws(LedgerError) -> OwnerStatement.Content {
    if let grant = arguments["--revoke"] {
      return .revocation(of: grant, reason: arguments["--reason"])
    }
    guard let entitlement = arguments["--entitlement"], names.contains(entitlement) else {
      throw .usage(
        names.isEmpty
          ? "no entitlement is configured; see: subledger help configuration"
          : "--entitlement takes one of \(names.joined(separator: ", "))")
    }
    let until = try arguments.time("--until")
    if let until, until <= Clock.now() { throw .usage("--until is in the past") }
    return .grant(entitlement: entitlement, until: until, reason: arguments["--reason"])
  }

  private static func words(_ content: OwnerStatement.Content, _ isNew: Bool) -> String {
    switch content {
    case .grant(let entitlement, let until, _):
      "\(entitlement) is granted" + (until.map { " until \(Timestamp.text($0))" } ?? "")
    default: isNew ? "the grant has ended" : "the grant had ended before"
    }
  }
}
