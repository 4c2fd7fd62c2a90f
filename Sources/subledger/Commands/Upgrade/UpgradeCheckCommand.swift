import Audit
import Platform
import Store
import StrictJSON

/// `upgrade-check`: what would happen if this program were started in place of the one that runs.
enum UpgradeCheckCommand {
  static let flags: [Command.Flag] = [
    .init("--keys", "FILE", "what `help configuration` of the running program prints; - is stdin"),
    .init("--no-rows", "build no rows to compare answers and to measure the time"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let old = try arguments["--keys"].map(KeyList.read)
    var check = UpgradeCheck()
    check.examineKeys(since: old)
    if let configuration = try check.readConfiguration(arguments) {
      let folder = arguments.folder(configuration)
      do throws(LedgerError) {
        try folder.requireJournal()
        check.namePrograms(folder)
        check.examineSchema(folder)
      } catch {
        // What is wrong with the configuration may be the folder that it names.
        if check.refusal == nil { throw error }
      }
      if check.refusal == nil {
        try check.examineRows(folder, configuration, compares: !arguments.has("--no-rows"))
        try check.examineMapping(folder, configuration)
        check.examineSharedJournal(configuration)
      }
    }
    show(check, asJSON: arguments.has("--json"))
    return check.exitCode
  }

  private static func show(_ check: UpgradeCheck, asJSON: Bool) {
    let count = check.checks.count(where: \.isFinding)
    guard !asJSON else {
      return Terminal.print(
        .object(
          [("object", .string("upgrade_check")), ("starts", .boolean(check.refusal == nil))]
            + check.members + [
              ("findings", .integer(Int64(count))), ("checks", .array(check.checks.map(\.json))),
            ]))
    }
    for item in check.checks { Terminal.print(item.text) }
    let verdict =
      switch check.exitCode {
      case .good: "nothing changes but the program"
      case .findings: "\(CountText.of(Int64(count), "things")) to read before the upgrade"
      default: "this program would not start here"
      }
    Terminal.print("\n" + verdict, count == 0 ? .green : .red)
  }
}
