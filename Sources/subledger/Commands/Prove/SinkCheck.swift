import Audit
import Delivery
import Ledger
import Platform
import Store
import StrictJSON

/// What `doctor` says of sinks whose last delivery failed, and of mirrors that a running daemon
/// does not fill, or not whole. It is in no file: the daemon asks receivers and PostgreSQL, and
/// `doctor` does not.
extension Doctor {
  func examineDeliveries() {
    guard !configuration.sinkNames.isEmpty, let daemon = ControlClient(folder) else { return }
    for name in configuration.sinks.map(\.name) {
      guard let (state, reason) = Self.status(name, daemon), let reason,
        ["up", "down"].contains(state)
      else { continue }
      reportFinding(
        "\(name) is \(state): \(VisibleText.of(reason))",
        next: "it is tried again; subledger sink show \(name) says what waits and when, subledger "
          + "sink test \(name) tries the receiver now")
    }
    for name in configuration.mirrors.map(\.name) {
      guard let (state, reason) = Self.status(name, daemon) else { continue }
      guard let next = Self.next(name, state, isComplete: reason == nil) else { continue }
      let why = reason.map { ": \(VisibleText.of($0))" } ?? ""
      reportFinding("\(name) is \(state)\(why)", next: next)
    }
  }

  /// The state of a sink, and why it is in it or what the last attempt failed with.
  private static func status(
    _ name: String, _ daemon: ControlClient
  ) -> (state: String, reason: String?)? {
    let command = SinkCommand(.show, name).json.bytes
    guard let sink = (try? daemon.post("/control/sink", command))?.body["result"]?["sink"],
      let state = sink["state"]?.string
    else { return nil }
    return (state, sink["reason"]?.string)
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
