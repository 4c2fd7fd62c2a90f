import Ledger
import Platform
import SharedJournal
import Store
import StrictJSON

/// `shared-journal try`: whether this role can append to the shared journal.
enum SharedJournalTrial {
  private static let name = "an event is written, read as it was written, and rolled back"

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let shared =
      arguments["--connection"] == nil
      ? try SharedJournalCommand.configured(try arguments.configuration())
      : try SharedJournalCommand.owner(arguments)
    let journal = PostgresJournal(shared.settings)
    defer { journal.disconnect() }
    var failure: String?
    do throws(LedgerError) {
      try journal.tryAppend(now: Clock.now(), by: SharedJournalCommand.soon)
    } catch {
      guard [.sharedRefused, .sharedBroken, .sharedDiverged].contains(error.code) else {
        throw error
      }
      failure = error.description
    }
    show(failure, asJSON: arguments.has("--json"))
    return failure == nil ? .good : .findings
  }

  private static func show(_ failure: String?, asJSON: Bool) {
    guard !asJSON else {
      return Terminal.print(
        .object([
          ("object", .string("check")), ("name", .string(name)),
          ("failure", failure.map { .string($0) } ?? .null),
        ]))
    }
    Terminal.print((failure == nil ? "  " : "✗ ") + name + (failure.map { ": \($0)" } ?? ""))
    let count = failure == nil ? 0 : 1
    Terminal.print("\n" + CountText.of(count, "findings"), count == 0 ? .green : .red)
  }
}
