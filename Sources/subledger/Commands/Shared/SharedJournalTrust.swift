import Ledger
import Platform
import SharedJournal
import SignedData
import StrictJSON

/// `shared-journal trust`: the owner says which root certificates every daemon must trust.
enum SharedJournalTrust {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let owner = try SharedJournalCommand.owner(arguments)
    let roots = try arguments.configuration().trustRoots.fingerprints
    let connection = try SharedJournalCommand.connect(owner)
    try TrustRootTable.set(
      roots, in: owner.schema, on: connection, by: SharedJournalCommand.soon)
    if arguments.has("--json") {
      Terminal.print(
        .object([
          ("object", .string("trust_roots")),
          ("sha256", .array(names(roots).map(JSONValue.string))),
        ]))
    } else {
      Terminal.print(text(roots))
    }
    return .good
  }

  static func text(_ roots: Set<[UInt8]>) -> String {
    "Every daemon must trust these root certificates (SHA-256), and no other:\n"
      + names(roots).map { "  \($0)" }.joined(separator: "\n")
  }

  private static func names(_ roots: Set<[UInt8]>) -> [String] {
    roots.map(Hexadecimal.encode).sorted()
  }
}
