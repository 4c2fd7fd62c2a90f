import Configuration
import HTTPServer
import JournalStore
import LedgerAPI
import LedgerAudit
import LedgerEngine
import Observability
import Platform
import StrictJSON

/// The running daemon: ledger, HTTP front and the control socket of its data folder.
struct Daemon {
  let server: HTTPServer
  let service: LedgerService
  private let anchoring: AnchorService?

  /// Seconds that requests in flight get when the daemon is asked to end.
  private static let drainSeconds = 10.0

  /// - Parameter manager: who is told once a second that the daemon gets on.
  static func start(
    _ configuration: Configuration, _ manager: ServiceNotice = ServiceNotice(variables: [:])
  ) throws(CommandError) -> Daemon {
    let folder = DataFolder(path: configuration.data)
    let ledger = try CommandError.store { () throws(StoreError) in
      try Ledger.start(folder, now: Clock.now()) { error in
        Log.write(.error, "journal_failed", [("error", .string(error.description))])
        // The next start copies the write-ahead log to where a failed sync cannot hide.
        Signals.requestEnd()
      }
    }
    let service = LedgerService(ledger, configuration, version: VersionCommand.members)
    let anchoring = try anchoring(ledger, configuration)
    try watch(service, manager)
    do throws(HTTPFrontError) {
      let server = try HTTPServer.start(settings(configuration, folder)) {
        try LedgerHandler(service)
      }
      return Daemon(server: server, service: service, anchoring: anchoring)
    } catch {
      service.stop()
      ledger.stop()
      anchoring?.stop()
      throw .unavailable(error.description)
    }
  }

  private static func watch(
    _ service: LedgerService, _ manager: ServiceNotice
  ) throws(CommandError) {
    do throws(PlatformError) {
      try service.startWatch { manager.alive() }
    } catch {
      service.ledger.stop()
      throw .unavailable("\(error)")
    }
  }

  private static func anchoring(
    _ ledger: Ledger, _ configuration: Configuration
  ) throws(CommandError) -> AnchorService? {
    guard let settings = configuration.anchors else { return nil }
    do throws(PlatformError) {
      return try AnchorService.start(ledger, settings)
    } catch {
      ledger.stop()
      throw .unavailable("\(error)")
    }
  }

  private static func settings(
    _ configuration: Configuration, _ folder: DataFolder
  ) -> ServerConfiguration {
    var settings = ServerConfiguration(
      listen: configuration.listen, socketPath: folder.controlSocket)
    settings.trustedProxies = configuration.trustedProxies
    settings.limits.connections = configuration.limits.connections
    settings.limits.connectionsPerAddress = configuration.limits.connectionsPerAddress
    settings.limits.headerSeconds = Double(configuration.limits.headerSeconds)
    settings.limits.bodySeconds = Double(configuration.limits.bodySeconds)
    settings.limits.idleSeconds = Double(configuration.limits.idleSeconds)
    return settings
  }

  /// Finishes what is in flight, closes the files.
  func stop() -> ExitCode {
    service.beginDraining()
    server.drain(within: Self.drainSeconds)
    service.stop()
    service.ledger.stop()
    // Only now is the head the last one.
    anchoring?.stop()
    return service.ledger.failure == nil ? .good : .unavailable
  }
}
