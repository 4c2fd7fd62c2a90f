import API
import AppStore
import Audit
import Clients
import Delivery
import HTTPServer
import Ledger
import Platform
import Queries
import Recovery
import Store
import StrictJSON

/// The running daemon: ledger, HTTP server and the control socket in its data folder.
struct Daemon {
  let server: HTTPServer
  let service: LedgerService
  private let anchoring: AnchorService
  private let recovery: RecoveryService
  private let delivery: DeliveryService
  /// Ends what is being asked of Apple for a person.
  private let cancellation: Cancellation

  /// Seconds in which requests in flight can finish when the daemon is asked to end.
  private static let drainSeconds = 5.0

  /// Starts the ledger, the anchor service and the HTTP server.
  ///
  /// - Parameter manager: is told about once a second that the writer makes progress.
  /// - Throws: `LedgerError.usage` if the address to listen on is malformed; no file was changed
  ///   then. what the store throws if the folder is locked or its journal is refused,
  ///   `LedgerError.unavailable` if the limit on open files is too low, a thread cannot start or
  ///   the address cannot be used.
  static func start(
    _ configuration: Configuration, _ manager: ServiceNotice = ServiceNotice(variables: [:])
  ) throws(LedgerError) -> Daemon {
    try requireAddress(configuration.listen)
    let folder = DataFolder(path: configuration.data)
    let settings = try settings(configuration, folder)
    FormerJournal.keep(folder, now: Clock.now())
    let ledger = try Ledger.start(
      folder, now: Clock.now(), durations: configuration.durations,
      shared: configuration.sharedJournal?.access(trusting: configuration.trustRoots)
    ) { error in
      Log.write(.error, "journal_failed", [("error", .string(error.description))])
      // A shared journal that lost events has an alarm of its own.
      if error.code != .sharedDiverged { JournalFailure.note(folder, at: Clock.now()) }
      // The next start copies the write-ahead log to a new file: after a failed sync, pages in
      // memory can differ from the disk.
      Signals.requestEnd()
    }
    let service = LedgerService(ledger, configuration, version: Subledger.version)
    let recovery = recovery(service)
    let cancellation = Cancellation()
    setOrderLookup(service, cancellation)
    var (anchoring, delivery, server): (AnchorService?, DeliveryService?, HTTPServer?)
    do throws(LedgerError) {
      let anchors = try AnchorService.start(ledger, configuration.anchors)
      anchoring = anchors
      try service.startReading()
      try service.startSampling { manager.alive() }
      try startMapping(service)
      // Before anything is accepted that new sinks are to be told.
      let sending = try self.delivery(service)
      delivery = sending
      let listening = try listen(settings, service)
      server = listening
      // Once the server listens: what Apple sends while it recovers arrives.
      try recovery.start()
      return Daemon(
        server: listening, service: service, anchoring: anchors, recovery: recovery,
        delivery: sending, cancellation: cancellation)
    } catch {
      // The process ends now, and no thread may work while it does.
      recovery.stop()
      delivery?.stop()
      server?.drain(within: 0)
      service.stop()
      ledger.stop()
      anchoring?.stop()
      throw .unavailable(error.detail)
    }
  }

  /// - Throws: `LedgerError.usage` unless the text is an address to listen on.
  static func requireAddress(_ listen: String) throws(LedgerError) {
    guard ListenAddress(listen) == nil else { return }
    throw .usage(HTTPServerError.listenAddress(listen).description)
  }

  /// Journals the first mapping of products, and starts the thread that compares changed ones.
  private static func startMapping(_ service: LedgerService) throws(LedgerError) {
    let mapping = MappingService(service.ledger, configuration: { service.configuration })
    try mapping.start()
    service.setMapping(mapping)
  }

  private static func listen(
    _ settings: ServerConfiguration, _ service: LedgerService
  ) throws(LedgerError) -> HTTPServer {
    do throws(HTTPServerError) {
      return try HTTPServer.start(settings) { try LedgerHandler(service) }
    } catch {
      throw .unavailable(error.description)
    }
  }

  /// Each app is asked about once, because who asks is at a page of the console.
  private static func setOrderLookup(_ service: LedgerService, _ cancellation: Cancellation) {
    service.setOrderLookup { [weak service] order, bundleIds throws(LedgerError) in
      guard var configuration = service?.configuration else { throw .stopped("stopped") }
      configuration.apps = configuration.apps.filter { bundleIds.contains($0.key) }
      var settings = ClientSettings()
      settings.totalMilliseconds = 10_000
      let search = try AppStoreSearch(order, configuration, cancellation, .once, settings)
      return try search.run(app: nil, environment: .production).map {
        OrderPurchase(
          key: $0.key, productIds: $0.productIds.sorted(), transactions: $0.transactions)
      }
    }
  }

  private static func recovery(_ service: LedgerService) -> RecoveryService {
    let recovery = RecoveryService(
      service.ledger, version: Subledger.version, configuration: { service.configuration },
      onOutcome: { service.record(recovered: $0, $1) })
    service.setRecovery {
      let status = recovery.status
      return status.isOn ? status : nil
    }
    return recovery
  }

  /// Starts the thread that tells others what changed.
  private static func delivery(_ service: LedgerService) throws(LedgerError) -> DeliveryService {
    let delivery = try DeliveryService.start(
      service.ledger, version: Subledger.version, configuration: { service.configuration })
    service.setDelivery(delivery)
    return delivery
  }

  /// The settings of the server, with as many connections as the limit on open files allows.
  private static func settings(
    _ configuration: Configuration, _ folder: DataFolder
  ) throws(LedgerError) -> ServerConfiguration {
    var settings = ServerConfiguration(
      listen: configuration.listen, socketPath: folder.controlSocket)
    settings.trustedProxies = configuration.trustedProxies
    settings.limits.connections = configuration.limits.connections
    settings.limits.connectionsPerAddress = configuration.limits.connectionsPerAddress
    settings.limits.headerSeconds = Double(configuration.limits.headerSeconds)
    settings.limits.bodySeconds = Double(configuration.limits.bodySeconds)
    settings.limits.idleSeconds = Double(configuration.limits.idleSeconds)
    let fitted: ServerConfiguration
    do throws(HTTPServerError) { fitted = try settings.fittedToDescriptors() } catch {
      throw .unavailable(error.description)
    }
    if fitted.limits.connections < settings.limits.connections {
      Log.write(
        .warning, "few_descriptors",
        [
          ("connections", .integer(Int64(fitted.limits.connections))),
          ("configured", .integer(Int64(settings.limits.connections))),
          ("next", .string("raise the limit on open files, LimitNOFILE= in the unit")),
        ])
    }
    return fitted
  }

  /// What it has recovered by itself.
  var recovered: RecoveryStatus { recovery.status }

  /// Finishes the requests in flight and closes the files.
  func stop() -> ExitCode {
    service.beginDraining()
    cancellation.request()
    recovery.stop()
    delivery.stop()
    server.drain(within: Self.drainSeconds)
    service.stop()
    service.ledger.stop()
    // After the ledger, so that the last anchor covers the final head.
    anchoring.stop()
    return exitCode
  }

  /// What the process ends with.
  var exitCode: ExitCode { service.ledger.failure == nil ? .good : .unavailable }
}
