import Configuration
import Encoding
import Glibc
import HTTPServer
import JournalStore
import Platform
import Recovery

/// The demo's outage: the daemon is away while three days pass at the App Store, comes back, and
/// recovers by itself what it missed.
struct DemoOutage {
  let store: DemoAppStore
  /// The daemon that came back.
  let daemon: Daemon

  private static let days: Int64 = 3
  /// All of them come during the outage, so that everything about them is missing after it.
  private static let customers = 60
  /// Milliseconds that the recovery is waited for.
  private static let timeout = 30_000

  /// Plays it, and tells it in five lines.
  ///
  /// - Parameters:
  ///   - daemon: is stopped.
  ///   - folder: of the demo, with the authority in it.
  ///   - configure: returns the configuration of a daemon that listens at an address and asks an
  ///     App Store.
  /// - Throws: what the start of a daemon throws. Nothing runs any more then.
  static func play(
    _ daemon: Daemon, _ folder: String, _ interruption: Interruption,
    configure: (_ listen: String, DemoAppStore) throws(CommandError) -> Configuration
  ) throws(CommandError) -> DemoOutage {
    let address = "127.0.0.1:\(daemon.server.port)"
    _ = daemon.stop()
    // Another seed in each run: the customers of the last run are known.
    let now = Clock.now()
    let store = try DemoAppStore.start([
      "--authority", folder + "/authority", "--customers", "\(customers)", "--days", "\(days)",
      "--behind", "\(days)", "--seed", "\(now)", "--notify", "http://\(address)/v1/notifications",
    ])
    do throws(CommandError) {
      Terminal.print("\nAn outage: the daemon is away, and three days pass at the App Store.")
      let missed = try store.advance(days * CivilTime.day)
      Terminal.print(
        "  \(missed.customers) customers come, and \(missed.failures) notifications cannot be "
          + "delivered.")
      let configuration = try configure(address, store)
      // The days passed in a moment: by this machine's clock the daemon was hardly away.
      try mapError(
        CommandError.store,
        try RecoveryService.recordAlive(
          at: now - days * CivilTime.day, DataFolder(path: configuration.data)))
      let back = try Daemon.start(configuration)
      Terminal.print("  The daemon is back, and asks for Apple's notification history by itself.")
      Terminal.print(outcome(back, of: missed.failures, interruption))
      Terminal.print(
        "  For the report, in another terminal: subledger recover --config \(folder)/config.json")
      return DemoOutage(store: store, daemon: back)
    } catch {
      store.stop()
      throw error
    }
  }

  private static func outcome(
    _ daemon: Daemon, of missed: Int64, _ interruption: Interruption
  ) -> String {
    var waited = 0
    while daemon.recovered.succeededAt == nil, waited < timeout, !interruption.isRequested {
      usleep(50_000)
      waited += 50
    }
    let found = daemon.recovered
    guard found.succeededAt != nil else { return "  It has not come to the end yet." }
    return "  With \(found.requests) requests it has recovered \(found.recovered) of the "
      + "\(missed) notifications that it missed."
  }

  /// Ends the daemon before the App Store that it asks.
  func stop() -> ExitCode {
    let code = daemon.stop()
    store.stop()
    return code
  }
}
