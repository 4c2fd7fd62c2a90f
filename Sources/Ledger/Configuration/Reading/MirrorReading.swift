import Clients
import Platform
import StrictJSON

/// Reads an entry of `sinks` that is a mirror.
extension ConfigurationReader {
  static let mirrorKind = "mirror"

  func mirror(_ entry: JSONElement) throws(LedgerError) -> Configuration.Mirror {
    let schema = try text(entry, "schema") ?? "subledger"
    guard Configuration.Mirror.isSchema(schema) else {
      throw invalid(
        "schema cannot be used", "it must be \(Configuration.Mirror.schemaRule)")
    }
    let connection = try required(entry, "connection")
    let address: PostgresAddress
    do throws(PostgresAddressError) {
      address = try PostgresAddress(checking: connection)
    } catch {
      throw invalid("connection: \(error.reason)", "correct it")
    }
    let password = try text(entry, "passwordFile").map { (path) throws(LedgerError) in
      try privateFile(path, "passwordFile")
    }
    return Configuration.Mirror(
      name: try sinkName(entry), address: address, passwordFile: password, schema: schema)
  }
}
