import AppStoreSimulator
import Platform

/// `subledger simulate …`: the simulator parses its own arguments and has its own help.
enum SimulateArguments {
  static func run(_ arguments: [String]) -> ExitCode {
    let interruption = Interruption.started()
    let code =
      arguments.first == "serve"
      ? StandInCommand.run(
        arguments: Array(arguments.dropFirst()), output: { Terminal.print($0) },
        progress: { Terminal.error($0) }, shouldStop: { interruption.isRequested })
      : SimulateCommand.run(
        arguments: arguments, output: { Terminal.print($0) }, errors: { Terminal.error($0) },
        progress: { Terminal.progress($0) },
        shouldStop: { interruption.isRequested })
    return ExitCode(rawValue: code) ?? .unavailable
  }
}
