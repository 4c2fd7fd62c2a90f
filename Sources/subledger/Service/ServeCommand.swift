import API
import Glibc
import HTTPServer
import Ledger
import Platform
import Store
import StrictJSON

/// `serve`: the daemon, until SIGTERM or SIGINT.
enum ServeCommand {
  static let flags: [Command.Flag] = [
    .init("--listen", "HOST:PORT", "where to listen; port 0 picks a free one"),
    .init("--log-level", "LEVEL", "info (the default), warning or error"),
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let configuration = try arguments.configuration()
    Signals.blockReload()
    Log.setLevel(configuration.logLevel)
    Log.startThread()
    defer { Log.finish() }
    warn(configuration, arguments)
    let manager = ServiceNotice(variables: ProcessEnvironment.variables)
    let daemon = try Daemon.start(configuration, manager)
    Log.write(
      .info, "listening",
      [
        ("listen", .string(configuration.listen)), ("port", .integer(Int64(daemon.server.port))),
        ("data", .string(configuration.data)),
      ])
    daemon.service.ledger.lookAtClock()
    manager.ready()
    while case .reload(let user) = Signals.next() {
      manager.reloading()
      reload(daemon, arguments, by: UserName.of(user))
      manager.ready()
    }
    manager.stopping()
    Log.write(.info, "stopping")
    endInTime(daemon)
    let code = daemon.stop()
    Log.write(.info, "stopped")
    return code
  }

  /// Milliseconds in which the daemon ends by itself when it is asked to; one second more is for
  /// the log.
  private static let stopMilliseconds: Int32 = 8_500

  /// Ends the process if a thread does not end in time, as one that waits for a name server.
  /// Nothing is lost: what was answered with 200 is synced (promise 1), and the rest is as after a
  /// crash.
  private static func endInTime(_ daemon: Daemon) {
    _ = try? Thread.start("stop") {
      WakeupEvent().wait(milliseconds: stopMilliseconds)
      let code = daemon.exitCode
      Log.write(
        .warning, "stopped_late",
        [("next", .string("nothing is lost: the next start repeats what was not finished"))])
      Log.finish()
      _exit(code.rawValue)
    }
  }

  private static func warn(_ configuration: Configuration, _ arguments: Arguments) {
    warnAboutReaders(arguments.folder(configuration), arguments.configurationFile)
    if configuration.apps.isEmpty {
      Log.write(.warning, "no_apps", [("hint", .string("every notification is quarantined"))])
    }
    if configuration.readTokens.isEmpty {
      Log.write(.warning, "no_read_tokens", [("hint", .string("every read is answered with 401"))])
    }
    if let file = configuration.anchors?.file, file.hasPrefix(configuration.data + "/") {
      Log.write(
        .warning, "anchors_beside_data",
        [
          (
            "hint",
            .string(
              "anchors prove nothing if the journal's owner can rewrite them; use another volume")
          )
        ])
    }
  }

  /// Warns about what others can read. A V1 secret that others can read refuses the configuration.
  /// The configuration's group may read it, as that of a daemon which does not own the file.
  private static func warnAboutReaders(_ folder: DataFolder, _ configuration: String?) {
    let permissions: [(String?, UInt32, String)] = [
      (folder.path, 0o077, "chmod 700"), (folder.anchorKey, 0o077, "chmod 600"),
      (configuration, 0o007, "chmod 640"),
    ]
    for case (let path?, let bits, let next) in permissions {
      guard let mode = (try? FileMode.of(path)) ?? nil, mode.bits & bits != 0 else { continue }
      Log.write(
        .warning, "open_to_others",
        [("path", .string(path)), ("mode", .string(mode.text)), ("next", .string(next + " it"))])
    }
  }

  /// SIGHUP: applies every change that needs no restart, or none if the configuration is refused.
  /// The outcome is logged.
  private static func reload(_ daemon: Daemon, _ arguments: Arguments, by user: String) {
    do throws(LedgerError) {
      let read = try arguments.configuration()
      let reload = try Reload(from: daemon.service.configuration, to: read)
      daemon.service.adopt(reload.configuration)
      daemon.service.recordReload(isAccepted: true)
      Log.setLevel(reload.configuration.logLevel)
      var fields: [(String, JSONValue)] = [
        ("changes", .array(reload.changes.prefix(maximumListed).map(JSONValue.string))),
        ("count", .integer(Int64(reload.changes.count))), ("user", .string(user)),
      ]
      if !reload.needsRestart.isEmpty {
        fields.append(("needs_restart", .array(reload.needsRestart.map(JSONValue.string))))
      }
      Log.write(reload.needsRestart.isEmpty ? .info : .warning, "reloaded", fields)
      warn(reload.configuration, arguments)
    } catch {
      daemon.service.recordReload(isAccepted: false)
      Log.write(
        .error, "reload_refused",
        [
          ("error", .string(error.description)), ("user", .string(user)),
          (
            "next",
            .string("correct it and send SIGHUP again; the running configuration stays in effect")
          ),
        ])
    }
  }

  /// Changes that one log line lists.
  private static let maximumListed = 20
}
