import Clients
import Ledger
import Platform
import SharedJournal
import Store

/// `shared-journal`: the journal on PostgreSQL that several daemons append to.
enum SharedJournalCommand {
  static let flags: [Command.Flag] = [
    .init("--connection", "CONNINFO", "for migrate, trust and try: the owner's connection string"),
    .init("--password-file", "FILE", "for migrate, trust and try: the owner's password, mode 0600"),
    .init("--schema", "NAME", "for migrate, trust and try: the schema; subledger by default"),
    .init("--from", "FOLDER", "for init: the folder to upload; the data folder by default"),
    .init("--sql", "for migrate: print what an empty database gets, and connect to nothing"),
    .json,
  ]

  static let verbs = ["migrate", "trust", "try", "init", "detach", "status"]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    guard let verb = arguments.operands.first else {
      throw .usage("say what to do: \(verbs.joined(separator: ", "))")
    }
    guard arguments.operands.count == 1 else {
      throw .usage("unexpected argument '\(arguments.operands[1])'")
    }
    switch verb {
    case "migrate": return try SharedJournalMigration.run(arguments)
    case "trust": return try SharedJournalTrust.run(arguments)
    case "try": return try SharedJournalTrial.run(arguments)
    case "init": return try SharedJournalUpload.run(arguments)
    case "detach": return try SharedJournalUpload.detach(arguments)
    case "status": return try SharedJournalStatus.run(arguments)
    default:
      throw .usage("unknown: \(verb); the operations are \(verbs.joined(separator: ", "))")
    }
  }

  /// Milliseconds for a connection, and for each step.
  static let limit: Int64 = 30_000

  static var soon: Deadline { Deadline(milliseconds: limit) }

  /// The shared journal of the configuration.
  ///
  /// - Throws: `LedgerError.usage` if it has none.
  static func configured(
    _ configuration: Configuration
  ) throws(LedgerError) -> Configuration.SharedJournal {
    guard let shared = configuration.sharedJournal else {
      throw .usage("the configuration has no \"sharedJournal\"")
    }
    return shared
  }

  /// The shared journal that `--connection` names.
  ///
  /// - Throws: `LedgerError.usage` if a flag is missing or refused.
  static func owner(_ arguments: Arguments) throws(LedgerError) -> Configuration.SharedJournal {
    guard let text = arguments["--connection"] else {
      throw .usage("--connection is missing: the connection string of the schema's owner")
    }
    let address = try mapError(
      { (error: PostgresAddressError) in
        LedgerError.usage(
          "--connection: "
            + error.reason.replacing("\"passwordFile\"", with: "--password-file"))
      }, try PostgresAddress(checking: text))
    var journal = Configuration.SharedJournal(
      file: "--connection", address: address, schema: try schema(arguments))
    journal.passwordFile = arguments["--password-file"]
    return journal
  }

  static func schema(_ arguments: Arguments) throws(LedgerError) -> PostgresIdentifier {
    guard let schema = PostgresIdentifier(arguments["--schema"] ?? "subledger") else {
      throw .usage("--schema takes a-z, 0-9 and _, at most 48 of them")
    }
    return schema
  }

  /// Connects as the owner.
  static func connect(
    _ journal: Configuration.SharedJournal
  ) throws(LedgerError) -> PostgresConnection {
    let password = try journal.password()
    return try mapError(
      { (error: PostgresError) in LedgerError.unavailable(error.description) },
      try PostgresConnection.dial(
        journal.address, password: password, target: .writable, by: soon))
  }

}
