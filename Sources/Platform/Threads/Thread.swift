import CLinux
import Glibc
import Synchronization

/// A POSIX thread that runs one closure.
///
/// The data path uses threads instead of tasks: reactors and the writer own their connections and
/// block in the kernel (epoll, fsync), and a thread of Swift's cooperative pool must never block.
public final class Thread: Sendable {
  /// Nil after `join`.
  private let handle: Mutex<pthread_t?>

  /// Starts `body` on a new thread.
  ///
  /// - Parameter name: what `ps` and `top` show; the kernel keeps 15 bytes (PR_SET_NAME in
  ///   prctl(2)).
  /// - Throws: `LedgerError.system` with EAGAIN when the kernel refuses another thread.
  public static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(LedgerError) -> Thread {
    let box = Unmanaged.passRetained(
      Body {
        _ = subledger_name_thread(name)
        body()
      })
    var handle = pthread_t()
    let code = pthread_create(
      &handle, nil,
      { raw in
        if let raw { Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run() }
        return nil
      }, box.toOpaque())
    guard code == 0 else {
      box.release()
      throw .system("start a thread", code)
    }
    return Thread(handle: handle)
  }

  private init(handle: pthread_t) { self.handle = Mutex(handle) }

  /// Detaches a thread that was not joined: it runs on, and its resources are freed at its end.
  deinit {
    if let handle = handle.withLock({ $0 }) { pthread_detach(handle) }
  }

  /// Waits until the thread has ended and its thread-local data is freed. A second caller waits
  /// until the first one returns.
  public func join() {
    handle.withLock { handle in
      if let running = handle { pthread_join(running, nil) }
      handle = nil
    }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
