import Glibc
import Platform
import Synchronization

/// Runs rebuilds one after the other, each from the first event, while something else is measured.
final class RebuildsBeside: Sendable {
  private let isOver = Atomic(false)
  private let count = Atomic(0)
  private let failure = Mutex<BenchError?>(nil)

  private init() {}

  /// Runs `body` with rebuilds beside it. The last rebuild is terminated when `body` returns.
  ///
  /// - Returns: the result of `body`, and the number of rebuilds that were started.
  /// - Throws: `BenchError.unmeasurable` if a rebuild fails; what `body` throws.
  static func run<Result>(
    in folder: RunFolder, _ body: () throws(BenchError) -> Result
  ) throws(BenchError) -> (result: Result, count: Int) {
    let rebuilds = RebuildsBeside()
    let thread: Thread
    do throws(LedgerError) {
      thread = try Thread.start("rebuilds") { rebuilds.run(in: folder) }
    } catch {
      throw .unmeasurable(error.detail)
    }
    let result: Result
    do throws(BenchError) {
      result = try body()
    } catch {
      rebuilds.isOver.store(true, ordering: .relaxed)
      thread.join()
      throw error
    }
    rebuilds.isOver.store(true, ordering: .relaxed)
    thread.join()
    if let failure = rebuilds.failure.withLock({ $0 }) { throw failure }
    return (result, rebuilds.count.load(ordering: .relaxed))
  }

  private func run(in folder: RunFolder) {
    do throws(BenchError) {
      while !isOver.load(ordering: .relaxed) { try rebuild(folder) }
    } catch {
      failure.withLock { $0 = error }
    }
  }

  private func rebuild(_ folder: RunFolder) throws(BenchError) {
    let errors = folder.path + "/rebuild.errors"
    let process = try ChildProcess.start(
      RebuildRun.arguments(folder), output: "/dev/null", errors: errors)
    count.add(1, ordering: .relaxed)
    var isTerminated = false
    while !process.hasEnded {
      if !isTerminated, isOver.load(ordering: .relaxed) {
        isTerminated = true
        process.terminate()
      }
      usleep(5_000)
    }
    let code = process.wait()
    guard isTerminated || code == 0 else {
      throw .unmeasurable("rebuild failed: \(try folder.lastLine(of: errors))")
    }
  }
}
