import Platform
import Store
import StrictJSON

/// `healthy`: whether the daemon on the data folder takes notifications.
enum HealthyCommand {
  /// Those who ask repeat it every few seconds.
  private static let seconds = 5

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    if let reason = reason(arguments) {
      Terminal.error("subledger healthy: \(reason)", .red)
      return .findings
    }
    Terminal.print("healthy")
    return .good
  }

  /// Why it does not; nil if it does. Whatever fails is a reason: who asks knows 0 and 1 alone.
  private static func reason(_ arguments: Arguments) -> String? {
    do throws(LedgerError) {
      let folder = try arguments.readableFolder()
      guard let daemon = ControlClient(folder, seconds: seconds) else {
        return "no daemon answers on \(folder.path); see its log, or start: subledger serve"
      }
      let answer = try daemon.get("/readyz")
      guard answer.status != 200 else { return nil }
      return answer.body["detail"]?.string ?? "the daemon is not ready"
    } catch {
      return error.description
    }
  }
}
