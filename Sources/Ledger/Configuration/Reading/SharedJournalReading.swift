import Clients
import Platform
import StrictJSON

/// Reads `sharedJournal`.
extension ConfigurationReader {
  /// - Throws: `LedgerError` for the first thing that is wrong.
  mutating func sharedJournal(
    _ root: JSONElement
  ) throws(LedgerError) -> Configuration.SharedJournal? {
    guard let entry = root["sharedJournal"] else { return nil }
    keyPath = "sharedJournal"
    defer { keyPath = "" }
    try requireKnownKeys(entry, .sharedJournal)
    var journal = Configuration.SharedJournal(
      file: file, address: try address(try required(entry, "connection")),
      schema: try schema(entry))
    if let path = try text(entry, "passwordFile") {
      journal.passwordFile = credential(path) ?? resolved(path)
      _ = try journal.password()
    }
    journal.requiresReplication =
      try choice(entry, "replication", or: Configuration.SharedJournal.Replication.any)
      == .required
    journal.reads = try choice(entry, "reads", or: .local)
    journal.holdSeconds = try number(entry, "holdSeconds", 1...20) ?? journal.holdSeconds
    journal.pollMilliseconds =
      try number(entry, "pollMilliseconds", 10...60_000) ?? journal.pollMilliseconds
    return journal
  }

  private func address(_ text: String) throws(LedgerError) -> PostgresAddress {
    do throws(PostgresAddressError) {
      return try PostgresAddress(checking: text)
    } catch {
      throw invalid("connection: \(error.reason)", "see `subledger help configuration`")
    }
  }

  private func schema(_ entry: JSONElement) throws(LedgerError) -> PostgresIdentifier {
    let name = try text(entry, "schema") ?? "subledger"
    guard let schema = PostgresIdentifier(name) else {
      throw invalid("schema is no plain name", "use a-z, 0-9 and _, at most 48 of them")
    }
    return schema
  }
}
