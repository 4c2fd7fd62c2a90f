import Audit
import Delivery
import Ledger
import Platform
import Store
import StrictJSON

/// What `doctor` says of mirrors that a running daemon does not fill, or not whole. What is wrong
/// is in no file: the daemon asks PostgreSQL, `doctor` does not.
extension Doctor {
  func examineMirrors() {
    guard !configuration.mirrors.isEmpty, let daemon = ControlClient(folder) else { return }
    for name in configuration.mirrors.map(\.name) {
      guard let answer = try? daemon.post("/control/sink", SinkCommand(.show, name).json.bytes),
        let status = answer.body["result"]?["sink"], let state = status["state"]?.string
      else { continue }
      let reason = status["reason"]?.string
      guard let next = Self.next(name, state, isComplete: reason == nil) else { continue }
      let why = reason.map { ": \(VisibleText.of($0))" } ?? ""
      reportFinding("\(name) is \(state)\(why)", next: next)
    }
  }

  /// - Parameter isComplete: whether the daemon has nothing to say of it.
  private static func next(_ name: String, _ state: String, isComplete: Bool) -> String? {
    switch state {
    case "filling": nil
    case "up":
      isComplete
        ? nil
        : "as the owner of its tables: subledger sink mirror-schema \(name) | psql -d DATABASE -v "
          + "ON_ERROR_STOP=1"
    case "paused": "subledger sink resume \(name)"
    case "lost": "say where it goes on: subledger sink resume \(name) --from start"
    default: "the daemon tries again by itself; see how far it is: subledger sink show \(name)"
    }
  }
}
