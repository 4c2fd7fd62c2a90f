import Glibc
import Platform
import Store
import Synchronization

/// Runs one body on several threads.
enum VerifyThreads {
  /// Runs the body on this many threads, at least one, and waits for all of them.
  ///
  /// - Parameter body: gets the thread's number, from 0.
  /// - Throws: The first error that a body threw, or `store(.platform)` if a thread cannot be
  ///   started.
  static func run(
    _ count: Int, _ body: @escaping @Sendable (Int) throws(LedgerError) -> Void
  ) throws(LedgerError) {
    let failure = FirstFailure()
    var threads: [Thread] = []
    var isRefused = false
    while threads.count < max(1, count), !isRefused {
      let number = threads.count
      do throws(LedgerError) {
        threads.append(
          try Thread.start("verify \(number + 1)") {
            do throws(LedgerError) { try body(number) } catch { failure.record(error) }
          })
      } catch {
        isRefused = true
      }
    }
    // Joined before the process can end, because OpenSSL holds memory for each thread.
    for thread in threads { thread.join() }
    if isRefused { throw .system("start a thread", EAGAIN) }
    if let error = failure.error { throw error }
  }

  /// The first error of any thread.
  private final class FirstFailure: Sendable {
    private let first = Mutex<LedgerError?>(nil)
    func record(_ error: LedgerError) { first.withLock { $0 = $0 ?? error } }
    var error: LedgerError? { first.withLock { $0 } }
  }
}
