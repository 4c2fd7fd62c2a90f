import AppStoreSimulator
import Clients
import Glibc
import HTTPServer
import Ledger
import Platform
import Queries
import Recovery
import Store
import StrictJSON

/// The demo's outage: the daemon is away while three days pass at the App Store, comes back, and
/// recovers by itself what it missed.
struct DemoOutage {
  let store: SimulatedAppStore
  /// Whom the outage is about.
  let customer: DemoCustomer
  /// The daemon that came back.
  let daemon: Daemon

  private static let days: Int64 = 3
  /// All of them come during the outage, so that everything about them is missing after it.
  private static let customers = 60
  /// Milliseconds that the recovery is waited for.
  private static let timeout = 30_000

  /// Plays it, and tells it in five lines, with a customer before and after it.
  ///
  /// - Parameters:
  ///   - daemon: is stopped.
  ///   - folder: of the demo, with the authority in it.
  ///   - configure: returns the configuration of a daemon that listens at an address, with a
  ///     value of `appStore`.
  /// - Throws: what the start of a daemon throws. Nothing runs any more then.
  static func play(
    _ daemon: Daemon, _ folder: String, _ interruption: Interruption,
    configure: (_ listen: String, _ appStore: JSONValue) throws(LedgerError) -> Configuration
  ) throws(LedgerError) -> DemoOutage {
    let address = "127.0.0.1:\(daemon.server.port)"
    // Another seed in each run: the customers of the last run are known.
    let now = Clock.now()
    let customer = DemoCustomer(seed: UInt64(now), number: customers)
    let data = DataFolder(path: folder + "/data")
    var running: Daemon? = daemon
    var opened: SimulatedAppStore?
    do throws(LedgerError) {
      let store = try mapError(
        LedgerError.simulator,
        try SimulatedAppStore(options(folder, seed: UInt64(now), notifying: address)) { _ in })
      opened = store
      _ = store.advance((DemoCustomer.days - days) * CivilTime.day)
      Terminal.print("One customer is in the grace period, because the card was refused:\n")
      try customer.showRow(data)
      running = nil
      _ = daemon.stop()
      Terminal.print("\nAn outage: the daemon is away, and three days pass at the App Store.")
      let missed = store.advance(days * CivilTime.day)
      Terminal.print("  \(missed) notifications cannot be delivered.")
      let configuration = try configure(address, access(store))
      // The days passed in a moment: by this machine's clock the daemon was hardly away.
      try RecoveryService.recordAlive(at: now - days * CivilTime.day, data)
      let back = try Daemon.start(configuration)
      running = back
      Terminal.print("  The daemon is back, and asks for Apple's notification history by itself.")
      Terminal.print(outcome(back, of: missed, interruption))
      Terminal.print(
        "  For the report, in another terminal: \(DemoCommand.command("recover", folder))")
      Terminal.print("\nThe same customer, who was refunded in the outage:\n")
      try customer.showRow(data)
      return DemoOutage(store: store, customer: customer, daemon: back)
    } catch {
      _ = running?.stop()
      opened?.stop()
      throw error
    }
  }

  private static func options(
    _ folder: String, seed: UInt64, notifying address: String
  ) -> SimulatedAppStore.Options {
    var options = SimulatedAppStore.Options(authority: folder + "/authority")
    (options.customers, options.days, options.seed) = (customers, days, seed)
    options.lifecycles = [Lifecycle.named(DemoCustomer.lifecycle)].compactMap(\.self)
    options.behind = DemoCustomer.days * CivilTime.day
    options.notify = ServiceURL("http://\(address)/v1/notifications")
    return options
  }

  /// The value of `appStore` in the configuration of a daemon that asks it.
  private static func access(_ store: SimulatedAppStore) -> JSONValue {
    let members = ["issuerId", "keyId", "keyFile", "production", "sandbox"]
    return .object(
      members.map { ($0, store.description[$0] ?? .null) } + [("limitShare", .integer(1))])
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
