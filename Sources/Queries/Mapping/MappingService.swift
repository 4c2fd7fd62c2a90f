import AppStore
import Entitlements
public import Ledger
public import Platform
import Store
import StrictJSON
import Synchronization

/// The daemon's thread that puts a changed mapping of products to entitlements in force: compares
/// it, and journals it unless too many would lose one.
///
/// On a shared journal the holder of the duty journals it. A daemon whose configuration was read
/// before another mapping took effect follows that one.
public final class MappingService: Sendable {
  /// What became of the configured mapping.
  public struct Status: Sendable {
    /// For which losses it is not in force; none if it is.
    public fileprivate(set) var refused: [MappingComparison.Loss] = []
    /// How often a mapping took effect since the start.
    public fileprivate(set) var journaled: Int64 = 0
  }

  private let ledger: Ledger
  private let configuration: @Sendable () -> Configuration
  private let state = Mutex(Status())
  private let thread = ServiceThread("mapping", .background)

  /// Milliseconds between two looks at what could not be journaled.
  private static let pause: Int64 = 1_000

  public init(_ ledger: Ledger, configuration: @escaping @Sendable () -> Configuration) {
    (self.ledger, self.configuration) = (ledger, configuration)
  }

  public var status: Status { state.withLock { $0 } }

  /// Journals the first mapping of each app, so that it stands before what arrives later, and
  /// starts the thread.
  ///
  /// - Throws: `LedgerError` if the thread cannot be started; what `LedgerReader` throws.
  public func start() throws(LedgerError) {
    let configuration = configuration()
    if ledger.copy == nil {
      let reader = try LedgerReader(ledger, durations: [:])
      let known = try reader.mappingsInForce()
      _ = journal(try reader.changedMappings(configuration).filter { known[$0.key] == nil })
    }
    try thread.start { [self] in run() }
  }

  /// Looks at the configuration of now.
  public func reload() { thread.wake() }

  public func stop() { thread.stop() }

  /// What is configured, and what was in force when that was read.
  private final class Proposal {
    private let configured: EntitlementCatalog
    private let limit: Int64?
    let reader: LedgerReader
    /// The seqs of what was in force.
    let basis: [StreamKey: Int64]
    /// Whether it was compared and refused.
    var isRefused = false

    init(
      _ configuration: Configuration, _ ledger: Ledger, until stopping: WorkLimit
    ) throws(LedgerError) {
      (configured, limit) = (configuration.entitlements, configuration.entitlementLossLimit)
      reader = try LedgerReader(
        ledger, durations: configuration.nonRenewingDurations, limit: stopping)
      basis = try reader.mappingsInForce().mapValues(\.seq)
    }

    func isOf(_ configuration: Configuration) -> Bool {
      configured == configuration.entitlements && limit == configuration.entitlementLossLimit
        && reader.durations == configuration.nonRenewingDurations
    }
  }

  private func run() {
    var proposal: Proposal?
    thread.work {
      var isDone = false
      do throws(LedgerError) {
        isDone = try propose(&proposal)
      } catch {
        // Tried again: rows may not be there yet, and the disk may be full.
        if error.code != .notReady { StoreErrors.record(.journal, "mapping_failed", error) }
      }
      return .whenWoken(within: isDone ? -1 : Self.pause)
    }
  }

  /// - Returns: whether there is nothing to do until the configuration changes.
  private func propose(_ last: inout Proposal?) throws(LedgerError) -> Bool {
    let configuration = configuration()
    guard ledger.copy?.isReady ?? true else { return false }
    let proposal: Proposal
    if let last, last.isOf(configuration) {
      proposal = last
    } else {
      proposal = try Proposal(configuration, ledger, until: thread.limit)
      last = proposal
    }
    let inForce = try proposal.reader.mappingsInForce()
    // What was journaled since was decided by another daemon, or by an operator.
    let changed = try proposal.reader.changedMappings(configuration)
      .filter { inForce[$0.key]?.seq == proposal.basis[$0.key] }
    guard !changed.isEmpty else {
      state.withLock { $0.refused = [] }
      return true
    }
    guard ledger.duties.holds(.catalog) else { return false }
    let first = changed.filter { inForce[$0.key] == nil }
    if !first.isEmpty { return journal(first) && first.count == changed.count }
    guard !proposal.isRefused else { return false }
    let refused = try refusal(changed, configuration, proposal.reader)
    state.withLock { $0.refused = refused }
    refused.forEach { log($0, configuration.entitlementLossLimit) }
    proposal.isRefused = !refused.isEmpty
    return refused.isEmpty && !thread.isStopping && journal(changed)
  }

  /// The entitlements that more would lose than is allowed.
  private func refusal(
    _ changed: [StreamKey: EntitlementCatalog.Mapping], _ configuration: Configuration,
    _ reader: LedgerReader
  ) throws(LedgerError) -> [MappingComparison.Loss] {
    guard let limit = configuration.entitlementLossLimit else { return [] }
    return try reader.compare(
      changed, configured: configuration.entitlements, at: Clock.now())?.losses(over: limit) ?? []
  }

  private func log(_ loss: MappingComparison.Loss, _ limit: Int64?) {
    Log.write(
      .error, "mapping_refused",
      [
        ("name", .string(loss.group.name)), ("bundle_id", .string(loss.group.app.bundleId)),
        ("environment", .string(loss.group.app.environment.rawValue)),
        ("would_lose", .integer(Int64(loss.lost))), ("having", .integer(Int64(loss.having))),
        ("limit_percent", .optional(limit)),
        (
          "next",
          .string(
            "the mapping before stays in force; see who with: subledger entitlements --diff "
              + "FILE; correct the configuration, or: subledger entitlements --accept FILE")
        ),
      ])
  }

  /// - Returns: whether all is journaled.
  private func journal(_ mappings: [StreamKey: EntitlementCatalog.Mapping]) -> Bool {
    guard !mappings.isEmpty else { return true }
    let done = WakeupEvent()
    let left = Atomic<Int>(mappings.count)
    let failed = Atomic<Bool>(false)
    for (app, mapping) in mappings.sorted(by: { $0.key < $1.key }) {
      let statement = NewStatement(
        .catalog(mapping), of: nil, environment: app.environment, bundleId: app.bundleId,
        token: "configuration", receivedAt: Clock.now())
      ledger.submit(Receiver.Received(statement)) { outcome in
        if let seq = outcome.seq {
          Log.write(
            .info, "mapping_in_force",
            [
              ("seq", .integer(seq)), ("bundle_id", .string(app.bundleId)),
              ("environment", .string(app.environment.rawValue)),
            ])
        } else {
          failed.store(true, ordering: .relaxed)
        }
        left.subtract(1, ordering: .acquiringAndReleasing)
        done.signal()
      }
    }
    while left.load(ordering: .acquiring) > 0 { done.wait() }
    guard !failed.load(ordering: .relaxed) else { return false }
    state.withLock { $0.journaled += 1 }
    return true
  }
}
