package import Foundation
import StrictJSON

/// `subledger serve`, once it listens.
package final class RunningDaemon {
  package let command: RunningCommand
  package let port: UInt16

  package convenience init(_ installation: Installation) throws {
    try self.init(
      try installation.launch(["serve", "--config", installation.config.path]))
  }

  package convenience init(program: URL, config: String, in folder: URL) throws {
    try self.init(
      try RunningCommand(["serve", "--config", config], in: folder, program: program))
  }

  private init(_ command: RunningCommand) throws {
    var found: UInt16?
    try command.wait(60, "the daemon to listen") {
      found = Self.port(in: command.errorsSoFar())
      guard found != nil || command.isRunning else {
        throw TestFailure("the daemon ended: \(command.errorsSoFar())")
      }
      return found != nil
    }
    self.command = command
    port = found ?? 0
  }

  /// The port in the log line of the event `listening`; nil if there is none yet.
  package static func port(in log: String) -> UInt16? {
    for line in log.split(separator: "\n") {
      guard let entry = try? JSONDocument(parsing: Array(line.utf8)).root,
        entry["event"]?.string == "listening"
      else { continue }
      return entry["port"]?.integer.map { UInt16($0) }
    }
    return nil
  }

  package var log: String { command.errorsSoFar() }

  /// Sends SIGHUP, and waits until the log says that the configuration was reloaded.
  package func reload() throws {
    let count = { [self] in log.split(separator: "\n").count { $0.contains("\"reloaded\"") } }
    let before = count()
    command.signal(SIGHUP)
    try command.wait(60, "the reload") { count() > before }
  }

  /// The first line of the log that contains all of these, for which it waits: answers and metrics
  /// may show what happened before its line is written.
  @discardableResult
  package func logged(_ parts: String...) throws -> Substring {
    var line: Substring?
    try command.wait(60, "\(parts) in the log") {
      line = log.split(separator: "\n").first { line in parts.allSatisfy(line.contains) }
      return line != nil
    }
    return line ?? ""
  }

  package func client() -> Client { Client(port: port) }

  /// Waits until the rows have every event of the journal, which a POST does not wait for. Those
  /// that do not follow the journal, as of another fold, are left as they are.
  package func waitForRows() throws {
    let client = client()
    try command.wait(60, "the rows to have every event") {
      let state = client.get("/readyz", token: nil)?.json?["projection"]?.string
      let metrics = MetricsText(client.get("/metrics")?.text ?? "")
      return state != "following" || metrics.value("subledger_projection_lag_events") == 0
    }
  }

  /// Sends SIGTERM and waits until it exits.
  @discardableResult
  package func stop() throws -> CommandResult {
    command.signal(SIGTERM)
    return try command.finish(within: 60)
  }

  /// Sends SIGKILL and waits until it is gone.
  package func crash() throws {
    command.signal(SIGKILL)
    try command.finish(within: 60)
  }
}
