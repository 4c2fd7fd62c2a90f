public import Ledger
public import Platform
public import Queries
public import Store
import Synchronization

/// The daemon's thread that recovers by itself what the ledger missed (promise 11): after a start,
/// a restore or a silence, and once a day what Apple could not deliver. Once a day it also compares
/// customers whose paid period ended without a word with what Apple says of them.
///
/// Nothing waits for it. It has a budget of requests of its own, and hands notifications to the
/// writer as any reactor does.
public final class RecoveryService: Sendable {
  let ledger: Ledger
  let version: String
  let configuration: @Sendable () -> Configuration
  let onOutcome: @Sendable (Receiver.Received, Outcome) -> Void
  /// The journal's head before anything was received: what arrives later hides no gap, and is none.
  let firstHead: Head
  private let state = Mutex(RecoveryStatus())
  let thread = ServiceThread("recovery", .background)

  /// Notes the journal's head. Make it before the server listens.
  ///
  /// - Parameters:
  ///   - version: of this program, for Apple.
  ///   - configuration: the configuration of now; read again before each recovery.
  ///   - onOutcome: called for each notification that was proven, on the writer's thread.
  public init(
    _ ledger: Ledger, version: String, configuration: @escaping @Sendable () -> Configuration,
    onOutcome: @escaping @Sendable (Receiver.Received, Outcome) -> Void
  ) {
    (self.ledger, self.version, self.configuration) = (ledger, version, configuration)
    self.onOutcome = onOutcome
    firstHead = ledger.foldedHead
  }

  /// Starts the thread.
  ///
  /// - Throws: `LedgerError` if the thread cannot be started.
  public func start() throws(LedgerError) {
    try thread.start { [self] in RecoveryWorker(self).run() }
  }

  /// Ends the thread, also in the middle of a request. Call it before the ledger stops.
  public func stop() { thread.stop() }

  var cancellation: Cancellation { thread.cancellation }

  public var status: RecoveryStatus { state.withLock { $0 } }

  func update(_ change: (inout RecoveryStatus) -> Void) { state.withLock { change(&$0) } }
}
