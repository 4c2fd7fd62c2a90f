import CLinux
import Glibc
import Synchronization

/// A POSIX thread that runs one closure and can be waited for.
///
/// Threads, not tasks, on the data path: reactors and the writer own their connections and block in
/// the kernel (epoll, fsync), which Swift's cooperative pool must not.
public final class Thread: Sendable {
  /// Nil once it has been joined.
  private let handle: Mutex<pthread_t?>

  /// Starts `body` on a new thread called `name` (15 bytes are kept, PR_SET_NAME in prctl(2)).
  ///
  /// - Throws: `PlatformError.system` when the kernel refuses another thread (EAGAIN).
  public static func start(
    _ name: String, _ body: @escaping @Sendable () -> Void
  ) throws(PlatformError) -> Thread {
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

  /// A thread nobody joins ends by itself, and leaves nothing behind.
  deinit {
    if let handle = handle.withLock({ $0 }) { pthread_detach(handle) }
  }

  /// Waits until the thread is gone, with all that libraries keep for it; whoever comes second
  /// waits for whoever came first.
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
