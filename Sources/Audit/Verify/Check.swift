import Platform
import Store

/// One check of a data folder at rest. `Verify` and `BackupCheck` are lists of them.
struct Check: Sendable {
  typealias Body = @Sendable (JournalReader, CheckRun) throws(LedgerError) -> Void

  /// The promise that is broken if what it reads is damaged.
  let promise: Int
  /// What it reads, as a finding names it.
  let reads: String
  /// Adds what it finds to the run.
  let body: Body

  init(_ promise: Int = 5, reads: String = "journal.sqlite", _ body: @escaping Body) {
    (self.promise, self.reads, self.body) = (promise, reads, body)
  }
}
