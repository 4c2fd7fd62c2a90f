import Glibc
import Platform
import Synchronization

/// Rebuilds one after the other, from the first event each, for as long as something else is
/// measured.
final class RebuildsBeside: Sendable {
  private let isOver = Atomic(false)
  private let count = Atomic(0)
  private let failure = Mutex<BenchError?>(nil)

  private init() {}

  /// - Returns: what `body` gives, and how many rebuilds were begun meanwhile; the last is cut off.
  static func run<Result>(
    in folder: RunFolder, _ body: () throws(BenchError) -> Result
  ) throws(BenchError) -> (result: Result, count: Int) {
    let rebuilds = RebuildsBeside()
    let thread: Thread
    do throws(PlatformError) {
      thread = try Thread.start("rebuilds") { rebuilds.go(on: folder) }
    } catch {
      throw .unmeasurable("\(error)")
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

  private func go(on folder: RunFolder) {
    do throws(BenchError) {
      while !isOver.load(ordering: .relaxed) { try rebuild(folder) }
    } catch {
      failure.withLock { $0 = error }
    }
  }

  private func rebuild(_ folder: RunFolder) throws(BenchError) {
    let errors = folder.path + "/rebuild.errors"
    let process = try ChildProcess.start(
      RebuildRun.words(folder), output: "/dev/null", errors: errors)
    count.add(1, ordering: .relaxed)
    var isCutOff = false
    while !process.hasEnded {
      if !isCutOff, isOver.load(ordering: .relaxed) {
        isCutOff = true
        process.terminate()
      }
      usleep(5_000)
    }
    let code = process.wait()
    guard isCutOff || code == 0 else {
      throw .unmeasurable("rebuild failed: \(try folder.lastLine(of: errors))")
    }
  }
}
