import HTTPFront
import Platform
import StrictJSON
import SubscriptionLedger

enum ServeCommand {
  static func run(_ words: CommandLineWords) throws(CommandError) -> ExitCode {
    try words.none()
    let configuration = try words.configuration()
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
    let daemon = try Daemon.start(configuration)
    Log.write(
      .info, "listening",
      [
        ("listen", .string(configuration.listen)), ("port", .integer(Int64(daemon.server.port))),
        ("data", .string(configuration.data)),
      ])
    Signals.wait()
    Log.write(.info, "stopping")
    let code = daemon.stop()
    Log.write(.info, "stopped")
    return code
  }
}
