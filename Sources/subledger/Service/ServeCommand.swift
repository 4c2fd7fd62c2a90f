import Configuration
import HTTPServer
import LedgerAPI
import LedgerEngine
import Observability
import Platform
import StrictJSON

enum ServeCommand {
  static let flags: [Command.Flag] = [
    .init("--listen", "HOST:PORT", "where to listen; port 0 picks a free one"),
    .init("--log-level", "LEVEL", "info (the default), warning or error"),
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    let configuration = try words.configuration()
    Signals.blockReload()
    Log.setLevel(configuration.logLevel)
    Log.startThread()
    defer { Log.finish() }
    warn(configuration)
    let manager = ServiceNotice(variables: ProcessEnvironment.variables)
    let daemon = try Daemon.start(configuration, manager)
    Log.write(
      .info, "listening",
      [
        ("listen", .string(configuration.listen)), ("port", .integer(Int64(daemon.server.port))),
        ("data", .string(configuration.data)),
      ])
    manager.ready()
    while Signals.next() == .reload {
      manager.reloading()
      reload(daemon, words)
      manager.ready()
    }
    manager.stopping()
    Log.write(.info, "stopping")
    let code = daemon.stop()
    Log.write(.info, "stopped")
    return code
  }

  private static func warn(_ configuration: Configuration) {
    if configuration.apps.isEmpty {
      Log.write(.warning, "no_apps", [("hint", .string("every notification goes to quarantine"))])
    }
    if configuration.readTokens.isEmpty {
      Log.write(.warning, "no_read_tokens", [("hint", .string("every read answers 401"))])
    }
    if let file = configuration.anchors?.file, file.hasPrefix(configuration.data + "/") {
      Log.write(
        .warning, "anchors_beside_data",
        [("hint", .string("who can rewrite the journal can rewrite them; name another volume"))])
    }
  }

  /// SIGHUP: what can change under a running daemon changes, or nothing does. A line says which,
  /// whatever the level.
  private static func reload(_ daemon: Daemon, _ words: Arguments) {
    do throws(CommandError) {
      let read = try words.configuration()
      let reload: Reload
      do throws(ConfigurationError) {
        reload = try Reload(from: daemon.service.configuration, to: read)
      } catch {
        throw .configuration(error)
      }
      daemon.service.adopt(reload.configuration)
      daemon.service.noteReload(isTaken: true)
      Log.setLevel(reload.configuration.logLevel)
      var fields: [(String, JSONValue)] = [
        ("changes", .array(reload.changes.prefix(shown).map(JSONValue.string))),
        ("count", .integer(Int64(reload.changes.count))),
      ]
      if !reload.needsRestart.isEmpty {
        fields.append(("needs_restart", .array(reload.needsRestart.map(JSONValue.string))))
      }
      Log.write(reload.needsRestart.isEmpty ? .info : .warning, "reloaded", fields)
      warn(reload.configuration)
    } catch {
      daemon.service.noteReload(isTaken: false)
      Log.write(
        .error, "reload_refused",
        [
          ("error", .string(error.text)),
          ("next", .string("mend it and send SIGHUP again; what held before still holds")),
        ])
    }
  }

  /// Changes that one line has room for.
  private static let shown = 20
}
