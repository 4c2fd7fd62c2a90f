import CLinux
import Glibc

/// A POSIX thread that runs one closure and can be joined once.
///
/// Threads, not tasks, on the data path: reactors and the writer own their connections and block in
/// the kernel (epoll, fsync), which Swift's cooperative pool must not.
public struct Thread: ~Copyable, Sendable {
  private let handle: pthread_t

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

  private init(handle: pthread_t) { self.handle = handle }

  /// A thread nobody joins ends by itself, and leaves nothing behind.
  deinit { pthread_detach(handle) }

  /// Waits until the closure has returned.
  public consuming func join() {
    pthread_join(handle, nil)
    discard self
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
