import Platform
import Simulator

/// `subledger simulate …` has words of its own; the simulator reads them.
enum SimulateArguments {
  static func run(_ words: [String]) -> ExitCode {
    let interruption = Interruption()
    interruption.watch()
    let code = SimulateCommand.run(
      arguments: words, output: Terminal.print, progress: { Terminal.error($0) },
      shouldStop: { interruption.isRequested })
    return ExitCode(rawValue: code) ?? .unavailable
  }
}
