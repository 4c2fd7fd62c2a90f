import AppStore
import Platform
import Queries
import StrictJSON

/// `entitlement`: one row, now or at a past moment.
enum EntitlementCommand {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let id = try arguments.operand("an original transaction id")
    let question = try QueryOptions.question(arguments)
    let environment = try arguments.environment() ?? .production
    let reader = try QueryOptions.reader(about: id, question, arguments)
    func document(_ environment: Environment) throws(LedgerError) -> RowDocument? {
      try reader.entitlement(
        id, environment: environment, bundleId: arguments["--bundle-id"], question)
    }
    guard let document = try document(environment) else {
      throw try QueryOptions.absent("entitlement", in: environment, arguments) {
        (other) throws(LedgerError) in try document(other) != nil
      }
    }
    Terminal.print(document.json, or: QueryOptions.table(document.json), arguments)
    return .good
  }
}
