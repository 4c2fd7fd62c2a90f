import Platform
import Store

/// Checks of the journal's file itself, which SQLite makes (promise 5).
extension Check {
  static let schema = file { (journal) throws(LedgerError) in try journal.schemaFaults() }
  static let tables = file { (journal) throws(LedgerError) in try journal.rowFaults() }
  static let pages = file { (journal) throws(LedgerError) in try journal.pageFaults() }

  private static func file(
    _ faults: @escaping @Sendable (JournalReader) throws(LedgerError) -> [String]
  ) -> Check {
    Check { (journal, run) throws(LedgerError) in
      for fault in try faults(journal) { run.add(5, nil, "the file: \(fault)") }
    }
  }

  /// Finds nothing: how many events Apple did not sign, for the report.
  static let statements = Check { (journal, run) throws(LedgerError) in
    let count = try journal.statementCount()
    run.report { $0.statements = count }
  }
}
