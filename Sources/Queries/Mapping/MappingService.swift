import AppStore
import Entitlements
public import Ledger
public import Platform
import Store
import StrictJSON
import Synchronization

/// The daemon's thread that puts a changed mapping of products to entitlements in force: compares
/// it, and journals it, but for the names that too many would lose.
///
/// On a shared journal the holder of the duty journals it. A daemon whose configuration was read
/// before another mapping took effect follows that one, and says so.
public final class MappingService: Sendable {
  /// What became of the configured mapping.
  public struct Status: Sendable {
    /// The names for which it is not in force, because too many would lose them.
    public fileprivate(set) var refused: [MappingComparison.Loss] = []
    /// Where another one is in force, for whatever reason.
    public fileprivate(set) var others: [OtherMapping] = []
    /// How often a mapping took effect since the start.
    public fileprivate(set) var journaled: Int64 = 0
  }

  private let ledger: Ledger
  private let configuration: @Sendable () -> Configuration
  private let state = Mutex(Status())
  private let thread = ServiceThread("mapping", .background)

  /// Milliseconds between two looks at what is in force, and at what could not be journaled.
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
      journal(try reader.changedMappings(configuration).filter { known[$0.key] == nil })
    }
    try thread.start { [self] in run() }
  }

  /// Looks at the configuration of now.
  public func reload() { thread.wake() }

  public func stop() { thread.stop() }

  /// What is configured, and what was in force when that was read.
  private final class Proposal {
    private let configured: EntitlementCatalog
    private let limits: [Environment: Int64]
    let reader: LedgerReader
    /// The seqs of what was in force, or was journaled of it since.
    var basis: [StreamKey: Int64]
    /// Whether it was compared and refused.
    var isRefused = false

    init(
      _ configuration: Configuration, _ ledger: Ledger, until stopping: WorkLimit
    ) throws(LedgerError) {
      (configured, limits) = (configuration.entitlements, configuration.entitlementLossLimits)
      reader = try LedgerReader(
        ledger, durations: configuration.nonRenewingDurations, limit: stopping)
      basis = try reader.mappingsInForce().mapValues(\.seq)
    }

    func isOf(_ configuration: Configuration) -> Bool {
      configured == configuration.entitlements && limits == configuration.entitlementLossLimits
        && reader.durations == configuration.nonRenewingDurations
    }
  }

  private func run() {
    var proposal: Proposal?
    thread.work {
      do throws(LedgerError) { try propose(&proposal) } catch { record(error) }
      do throws(LedgerError) { try proposal.map(look) } catch { record(error) }
      return .whenWoken(within: Self.pause)
    }
  }

  private func record(_ error: LedgerError) {
    // Tried again: rows may not be there yet, and the disk may be full.
    if error.code != .notReady { StoreErrors.record(.journal, "mapping_failed", error) }
  }

  /// Journals what is configured and not in force, as far as nothing speaks against it.
  private func propose(_ last: inout Proposal?) throws(LedgerError) {
    let configuration = configuration()
    guard ledger.copy?.isReady ?? true else { return }
    let proposal: Proposal
    if let last, last.isOf(configuration) {
      proposal = last
    } else {
      proposal = try Proposal(configuration, ledger, until: thread.limit)
      last = proposal
    }
    let inForce = try proposal.reader.mappingsInForce()
    // What was journaled since was decided by another daemon, or by an operator.
    var changed = try proposal.reader.changedMappings(configuration)
      .filter { inForce[$0.key]?.seq == proposal.basis[$0.key] }
    guard !changed.isEmpty else { return state.withLock { $0.refused = [] } }
    guard ledger.duties.holds(.catalog), !proposal.isRefused else { return }
    let refused = try refusal(
      changed.filter { inForce[$0.key] != nil }, configuration, proposal.reader)
    guard !thread.isStopping else { return }
    state.withLock { $0.refused = refused }
    refused.forEach(log)
    for loss in refused {
      guard case .catalog(let before)? = inForce[loss.group.app]?.statement.content else {
        continue
      }
      changed[loss.group.app]?[loss.group.name] = before[loss.group.name]
      if changed[loss.group.app] == before { changed[loss.group.app] = nil }
    }
    let journaled = journal(changed)
    for app in refused.map(\.group.app) {
      proposal.basis[app] = journaled[app] ?? proposal.basis[app]
    }
    proposal.isRefused = !refused.isEmpty && journaled.count == changed.count
  }

  /// Notes where another mapping is in force than the configured one.
  private func look(_ proposal: Proposal) throws(LedgerError) {
    let others = try proposal.reader.otherMappings(configuration())
    let before = state.withLock { state in
      defer { state.others = others }
      return state.others
    }
    for other in others where !before.contains(other) {
      Log.write(
        .warning, "mapping_differs",
        [("bundle_id", .string(other.app.bundleId))] + OtherMapping.object.members(of: other) + [
          (
            "next",
            .string(
              "the configuration here says otherwise: subledger entitlements --diff FILE; give "
                + "every daemon the same one, or say which counts: subledger entitlements "
                + "--accept FILE"
            )
          )
        ])
    }
  }

  /// The entitlements that more would lose than is allowed.
  private func refusal(
    _ changed: [StreamKey: EntitlementCatalog.Mapping], _ configuration: Configuration,
    _ reader: LedgerReader
  ) throws(LedgerError) -> [MappingComparison.Loss] {
    let limits = configuration.entitlementLossLimits
    return try reader.compare(
      changed.filter { limits[$0.key.environment] != nil },
      configured: configuration.entitlements, at: Clock.now())?.losses(over: limits) ?? []
  }

  private func log(_ loss: MappingComparison.Loss) {
    Log.write(
      .error, "mapping_refused",
      [
        ("name", .string(loss.group.name)), ("bundle_id", .string(loss.group.app.bundleId)),
        ("environment", .string(loss.group.app.environment.rawValue)),
        ("would_lose", .integer(Int64(loss.lost))), ("having", .integer(Int64(loss.having))),
        ("limit_percent", .integer(loss.limit)),
        (
          "next",
          .string(
            "for this name the mapping before stays in force; see who with: subledger "
              + "entitlements --diff FILE; correct the configuration, or: subledger entitlements "
              + "--accept FILE")
        ),
      ])
  }

  /// - Returns: the events of those that are journaled.
  @discardableResult
  private func journal(
    _ mappings: [StreamKey: EntitlementCatalog.Mapping]
  ) -> [StreamKey: Int64] {
    let done = WakeupEvent()
    let outcomes = Mutex<[StreamKey: Outcome]>([:])
    for (app, mapping) in mappings.sorted(by: { $0.key < $1.key }) {
      let statement = NewStatement(
        .catalog(mapping), of: nil, environment: app.environment, bundleId: app.bundleId,
        token: token, receivedAt: Clock.now())
      ledger.submit(Receiver.Received(statement)) { outcome in
        if let seq = outcome.seq {
          Log.write(
            .info, "mapping_in_force",
            [
              ("seq", .integer(seq)), ("bundle_id", .string(app.bundleId)),
              ("environment", .string(app.environment.rawValue)),
            ])
        }
        outcomes.withLock { $0[app] = outcome }
        done.signal()
      }
    }
    while outcomes.withLock({ $0.count }) < mappings.count { done.wait() }
    let seqs = outcomes.withLock { $0.compactMapValues(\.seq) }
    if !seqs.isEmpty { state.withLock { $0.journaled += 1 } }
    return seqs
  }

  /// Who says it: with a shared journal, which daemon.
  private var token: String {
    ledger.copy == nil ? "configuration" : "configuration of \(Ledger.hostName())"
  }
}
