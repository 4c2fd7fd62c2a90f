import Glibc

/// What `Synchronization.Mutex` is, over a lock that the thread sanitizer sees.
///
/// That one lies in a library of the toolchain that is not instrumented, and it waits by futex,
/// which the sanitizer does not know: everything a lock guards would be called a race. A copy of
/// this file in each module that has a lock takes its place there; it orders nothing more, and
/// nothing less.
struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  init(_ initial: consuming sending Value) {
    lock = .allocate(capacity: 1)
    lock.initialize(to: pthread_mutex_t())
    pthread_mutex_init(lock, nil)
    value = .allocate(capacity: 1)
    value.initialize(to: initial)
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
    value.deinitialize(count: 1)
    value.deallocate()
  }

  borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return try body(&value.pointee)
  }
}
