import Glibc
import Synchronization

/// Records that the user asked a long command to stop, with ^C or SIGTERM.
public final class Interruption: Sendable {
  private let requested = Atomic<Bool>(false)

  public init() {}

  /// Starts a thread that waits for the first signal and sets `isRequested`. A second signal ends
  /// the process at once, with the exit code 130. Call after `Signals.block`.
  ///
  /// - Parameters:
  ///   - cancellation: is requested at the first signal too.
  ///   - onSignal: is called on the thread at each of the two signals.
  public func start(
    _ cancellation: Cancellation? = nil, onSignal: @escaping @Sendable () -> Void = {}
  ) {
    let interruption = self
    _ = try? Thread.start("signals") {
      Signals.wait()
      interruption.requested.store(true, ordering: .relaxed)
      cancellation?.request()
      onSignal()
      Signals.wait()
      onSignal()
      _exit(130)
    }
  }

  /// Whether the first signal has arrived.
  public var isRequested: Bool { requested.load(ordering: .relaxed) }
}
