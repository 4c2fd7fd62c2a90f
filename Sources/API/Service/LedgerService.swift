public import Delivery
import HTTPServer
public import Ledger
public import Platform
public import Queries
import Synchronization

/// What all reactor threads share: the ledger, the configuration, the metrics.
public final class LedgerService: Sendable {
  public let ledger: Ledger
  let metrics = Metrics()
  let refusalLog = RefusalLog()
  let ownerFaults = OwnerFaults()
  let posted = PostedTimes()
  /// Of the program and of its parts, by name.
  let versions: [(name: String, version: String)]
  private let current: Mutex<Configuration>
  private let generation = Atomic<Int>(0)
  let arrivals = Arrivals(startedAt: Clock.now())
  let rows = RowCounts()
  let readers: ReaderPool
  let feed: FeedService
  let barrier: ReadBarrier
  /// The OpenAPI document, written once.
  let openAPI: HTTPResponse
  private let draining = Atomic<Bool>(false)
  /// Set once, before the first request.
  private let sampler = Mutex<ResourceSampler?>(nil)
  private let recovery = Mutex<(@Sendable () -> RecoveryStatus?)?>(nil)
  private let delivery = Mutex<DeliveryService?>(nil)
  private let mapping = Mutex<MappingService?>(nil)
  /// What commands recovered and reconciled since the daemon's start.
  private let byHand = Mutex<[RecoveryStatus.App: RecoveryStatus.Last]>([:])
  private let lookup = Mutex<OrderLookup?>(nil)

  /// - Parameters:
  ///   - version: of the program.
  ///   - readMilliseconds: of processor time that one read may use; past it the answer is 503.
  public init(
    _ ledger: Ledger, _ configuration: Configuration, version: String,
    readMilliseconds: Int64 = 5_000
  ) {
    self.ledger = ledger
    versions = ComponentVersions.all(of: version)
    current = Mutex(configuration)
    metrics.notifications.addApps(configuration.apps.keys)
    readers = ReaderPool(ledger, configuration, milliseconds: readMilliseconds)
    feed = FeedService(ledger, readers)
    barrier = ReadBarrier(ledger)
    openAPI = .json(OpenAPI.document(version: version))
  }

  /// Starts the threads that read journal and projection for requests. Call `stop` also if it
  /// throws.
  ///
  /// - Throws: `LedgerError` when the kernel refuses a thread.
  public func startReading() throws(LedgerError) {
    try readers.start()
    try feed.start()
    try barrier.start()
  }

  /// Starts the thread that samples files and disk.
  ///
  /// - Parameter heartbeat: called about once a second while the writer makes progress.
  /// - Throws: `LedgerError` when the kernel refuses the thread.
  public func startSampling(heartbeat: @escaping @Sendable () -> Void = {}) throws(LedgerError) {
    let service = self
    let started = try ResourceSampler.start(
      ledger, rows, posted,
      heartbeat: {
        service.lookAround()
        if !service.isStalled { heartbeat() }
      })
    sampler.withLock { $0 = started }
  }

  /// What is done about once a second, on the sampler's thread.
  private func lookAround() {
    refusalLog.writeSums()
    ownerFaults.writeSums()
    StoreErrors.writeSums()
    ledger.checkFiles()
    ledger.lookAtDisk()
    ledger.lookAtClock()
  }

  /// Sets where the numbers of recoveries come from; nil of it shows none.
  public func setRecovery(_ read: @escaping @Sendable () -> RecoveryStatus?) {
    recovery.withLock { $0 = read }
  }

  /// The numbers of recoveries; nil if Apple is asked about no app.
  var recoveryStatus: RecoveryStatus? { recovery.withLock { $0 }?() }

  /// Notes what a command found of an app.
  func recordByHand(_ last: RecoveryStatus.Last, of app: RecoveryStatus.App) {
    byHand.withLock { $0[app] = last.latest($0[app]) }
  }

  func recoveredByHand(_ app: RecoveryStatus.App) -> RecoveryStatus.Last? {
    byHand.withLock { $0[app] }
  }

  /// Sets who sends changes to others.
  public func setDelivery(_ service: DeliveryService) {
    delivery.withLock { $0 = service }
  }

  var deliveryStatuses: [DeliveryStatus] { delivery.withLock { $0 }?.statuses ?? [] }

  /// Does what an operator asks of a sink.
  func perform(
    _ command: SinkCommand, completion: @escaping @Sendable (SinkCommand.Outcome) -> Void
  ) {
    guard let service = delivery.withLock({ $0 }) else { return completion(.unavailable) }
    service.perform(command, completion: completion)
  }

  /// Sets who puts changed mappings of products in force.
  public func setMapping(_ service: MappingService) { mapping.withLock { $0 = service } }

  /// Whether the configured mapping is in force, and how often one took effect; nil in a command.
  var mappingStatus: MappingService.Status? { mapping.withLock { $0 }?.status }

  /// Sets who asks Apple for an order id, about apps with these bundle ids. The closure throws
  /// `.usage` if none of them can be asked about, and ends once the daemon is asked to.
  public func setOrderLookup(
    _ ask: @escaping @Sendable (String, Set<String>) throws(LedgerError) -> [OrderPurchase]
  ) {
    lookup.withLock { $0 = OrderLookup(ask) }
  }

  /// Nil in a command.
  var orderLookup: OrderLookup? { lookup.withLock { $0 } }

  /// Stops the threads that read journal and projection, and completes the log of refusals. Call it
  /// after the last request and before the ledger stops.
  public func stop() {
    lookup.withLock { $0.take() }?.stop()
    barrier.stop()
    feed.stop()
    readers.stop()
    recovery.withLock { $0 = nil }
    delivery.withLock { $0 = nil }
    mapping.withLock { $0.take() }?.stop()
    // Removed, because the sampler holds a reference to this service.
    sampler.withLock { $0.take() }?.stop()
    refusalLog.finish()
    ownerFaults.finish()
    StoreErrors.finish()
  }

  // MARK: The configuration

  /// The configuration as of the last reload.
  public var configuration: Configuration { current.withLock { $0 } }

  /// Increases with every reload.
  var configurationGeneration: Int { generation.load(ordering: .acquiring) }

  /// Replaces the configuration: requests whose head is complete after this call use the new one.
  public func adopt(_ configuration: Configuration) {
    metrics.notifications.addApps(configuration.apps.keys)
    delivery.withLock { $0 }?.noteBeginnings(of: configuration)
    current.withLock { $0 = configuration }
    readers.adopt(configuration)
    mapping.withLock { $0 }?.reload()
    generation.add(1, ordering: .acquiringAndReleasing)
  }

  /// Counts a reload of the configuration.
  public func recordReload(isAccepted: Bool) {
    metrics.reloads.add(isAccepted ? "taken" : "refused")
  }

  // MARK: Readiness

  var isDraining: Bool { draining.load(ordering: .relaxed) }

  /// From now on notifications are answered with 503, so that Apple sends them again.
  public func beginDraining() { draining.store(true, ordering: .relaxed) }

  /// The name of the header that says how far behind its shared journal a daemon is.
  private static let behindHeader = "Subledger-Behind-Ms"

  /// The answer to a read, with a header if the rows may lack what the shared journal has had for a
  /// minute.
  func marked(_ response: HTTPResponse) -> HTTPResponse {
    guard let copy = ledger.copy, !copy.isReady else { return response }
    var marked = response
    marked.headers.append((name: Self.behindHeader, value: String(copy.millisecondsBehind)))
    return marked
  }

  var readings: ResourceReadings {
    sampler.withLock { $0 }?.readings ?? ResourceReadings()
  }

  // MARK: Metrics

  /// The body of `GET /metrics`.
  ///
  /// - Parameters:
  ///   - token: the token that reads it.
  ///   - folded: the last seq in the live projection; nil if there is none.
  func metricsText(for token: Configuration.ReadToken, folded: Int64?) -> String {
    sampler.withLock { $0 }?.requestRowCount()
    return metrics.text(
      for: token, self, readings, folded: folded, versions: versions, recovery: recoveryStatus,
      delivery: delivery.withLock { $0 })
  }
}
