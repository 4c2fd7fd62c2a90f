import AppStore
import Entitlements
public import Ledger
public import Platform
import Store
import StrictJSON
import Synchronization

/// The daemon's thread that puts a changed mapping of products to entitlements, and how long they
/// last, in force: compares it, and journals it, but for the names that too many would lose.
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
  /// Whether the configuration was read again, so that it is compared with what is in force now.
  private let isReloaded = Atomic<Bool>(false)
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
      let reader = try LedgerReader(ledger)
      let before = try reader.mappingsInForce()
      journal(try reader.heldMappings(configuration, former: ledger.formerDurations), nil, before)
      let known = try reader.mappingsInForce()
      journal(try reader.changedMappings(configuration).filter { known[$0.key] == nil }, nil, [:])
    }
    try thread.start { [self] in run() }
  }

  /// Compares the configuration of now with what is in force, whoever said that.
  public func reload() {
    isReloaded.store(true, ordering: .releasing)
    thread.wake()
  }

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

    init(_ configuration: Configuration, _ reader: LedgerReader) throws(LedgerError) {
      (configured, limits) = (configuration.entitlements, configuration.entitlementLossLimits)
      self.reader = reader
      basis = try reader.mappingsInForce().mapValues(\.seq)
    }

    func isOf(_ configuration: Configuration) -> Bool {
      configured == configuration.entitlements && limits == configuration.entitlementLossLimits
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
    let isReload = isReloaded.exchange(false, ordering: .acquiring)
    if let last, !isReload, last.isOf(configuration) {
      proposal = last
    } else {
      last = nil
      let reader = try LedgerReader(ledger, limit: thread.limit)
      if ledger.duties.leases(.catalog) {
        // What was configured at the start was said then.
        let former = isReload ? [:] : ledger.formerDurations
        let held = try reader.heldMappings(configuration, former: former)
        journal(held, nil, try reader.mappingsInForce())
      }
      proposal = try Proposal(configuration, reader)
      last = proposal
    }
    let inForce = try proposal.reader.mappingsInForce()
    // What was journaled since was decided by another daemon, or by an operator.
    var changed = try proposal.reader.changedMappings(configuration)
      .filter { inForce[$0.key]?.seq == proposal.basis[$0.key] }
    guard !changed.isEmpty else { return state.withLock { $0.refused = [] } }
    guard ledger.duties.leases(.catalog), !proposal.isRefused else { return }
    let comparison = try proposal.reader.compare(
      changed.filter { inForce[$0.key] != nil }, configured: configuration.entitlements,
      at: Clock.now())
    let refused = comparison?.losses(over: configuration.entitlementLossLimits) ?? []
    guard !thread.isStopping else { return }
    state.withLock { $0.refused = refused }
    for loss in refused { log(loss, isRefused: true) }
    for loss in refused {
      let app = loss.group.app
      guard let before = inForce[app]?.mapping else { continue }
      changed[app]?.names[loss.group.name] = before.names[loss.group.name]
      // Which of both took it is not asked.
      changed[app]?.durations = proposal.reader.durations.said(of: app)?.last
      if changed[app]?.names == before.names { changed[app] = nil }
    }
    let journaled = journal(changed, comparison, inForce)
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

  /// Logs that customers would lose a name, or lost it: fewer than may always lose one, though more
  /// than the per cent.
  private func log(_ loss: MappingComparison.Loss, isRefused: Bool) {
    Log.write(
      isRefused ? .error : .warning, isRefused ? "mapping_refused" : "mapping_takes_access",
      [
        ("name", .string(loss.group.name)), ("bundle_id", .string(loss.group.app.bundleId)),
        ("environment", .string(loss.group.app.environment.rawValue)),
        (isRefused ? "would_lose" : "lost", .integer(Int64(loss.lost))),
        ("having", .integer(Int64(loss.having))), ("limit_percent", .integer(loss.limit)),
        (
          "next",
          .string(
            isRefused
              ? "for this name the mapping before stays in force, and the durations of the app; "
                + "see who with: subledger entitlements --diff FILE; correct the configuration, "
                + "or: subledger entitlements --accept FILE"
              : "it is in force, as fewer than \(MappingComparison.minimumLoss) customers lost it; "
                + "if it is not meant, correct the configuration and reload it")
        ),
      ])
  }

  /// - Parameters:
  ///   - comparison: what customers lose and gain by them; nil of the first mapping of an app.
  ///   - known: what was in force before.
  /// - Returns: the events of those that are journaled.
  @discardableResult
  private func journal(
    _ mappings: [StreamKey: EntitlementCatalog.Mapping], _ comparison: MappingComparison?,
    _ known: [StreamKey: StoredStatement]
  ) -> [StreamKey: Int64] {
    let done = WakeupEvent()
    let outcomes = Mutex<[StreamKey: Outcome]>([:])
    for (app, mapping) in mappings.sorted(by: { $0.key < $1.key }) {
      let statement = NewStatement(
        .catalog(mapping), of: nil, environment: app.environment, bundleId: app.bundleId,
        token: token, receivedAt: Clock.now())
      ledger.submit(Receiver.Received(statement)) { outcome in
        outcomes.withLock { $0[app] = outcome }
        done.signal()
      }
    }
    while outcomes.withLock({ $0.count }) < mappings.count { done.wait() }
    let seqs = outcomes.withLock { $0.compactMapValues(\.seq) }
    if !seqs.isEmpty { state.withLock { $0.journaled += 1 } }
    for (app, seq) in seqs.sorted(by: { $0.key < $1.key }) {
      announce(
        mappings[app] ?? ProductMapping(), known[app]?.mapping ?? ProductMapping(), of: app, seq,
        known[app] == nil ? nil : comparison)
    }
    return seqs
  }

  /// Logs a mapping that is in force from now on, and what it changed for customers.
  private func announce(
    _ mapping: EntitlementCatalog.Mapping, _ before: EntitlementCatalog.Mapping, of app: StreamKey,
    _ seq: Int64, _ comparison: MappingComparison?
  ) {
    let names = Set(mapping.names.keys).union(before.names.keys)
      .filter { mapping.names[$0] != before.names[$0] }
    let (new, old) = (mapping.durations ?? [:], before.durations ?? [:])
    let products = Set(new.keys).union(old.keys).filter { new[$0] != old[$0] }
    // Any name may have been lost by a duration.
    let concerned = products.isEmpty ? names : nil
    let counts = comparison?.counts(of: app, concerned)
    Log.write(
      .info, "mapping_in_force",
      [
        ("seq", .integer(seq)), ("bundle_id", .string(app.bundleId)),
        ("environment", .string(app.environment.rawValue)), ("said_by", .string(token)),
        ("names", .array(names.sorted().map(JSONValue.string))),
        ("durations_of", .array(products.sorted().map(JSONValue.string))),
        ("lost", .optional(counts.map { Int64($0.lost) })),
        ("gained", .optional(counts.map { Int64($0.gained) })),
      ])
    let limits = configuration().entitlementLossLimits
    for loss in comparison?.losses(over: limits, from: 1) ?? []
    where loss.group.app == app && concerned?.contains(loss.group.name) ?? true {
      log(loss, isRefused: false)
    }
  }

  /// Who says it: with a shared journal, which daemon.
  private var token: String {
    ledger.copy == nil ? "configuration" : "configuration of \(Ledger.hostName())"
  }
}
