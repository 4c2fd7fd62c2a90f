import Foundation
import Support
import Synchronization

/// Repeats a run with the fault at the first, second, … operation, until a run has fewer
/// operations.
struct FaultSweep: Sendable {
  /// The distance between two operations that are tried.
  var step = 1
  var first = 1

  struct Outcome: Sendable {
    var runs = 0
    var last = 0
    var failures: [String] = []
  }

  /// - Parameters:
  ///   - name: names the sweep in failures.
  ///   - run: runs with the fault at an operation, and returns whether the fault occurred.
  func run(_ name: String, _ run: @escaping @Sendable (Int) throws -> Bool) -> Outcome {
    let state = Progress()
    let (start, step) = (first, step)
    runConcurrently(2) { _ in
      while !state.isDone {
        let number = start + step * state.next()
        do {
          let fired = try run(number)
          state.record(number, fired: fired)
        } catch {
          state.record(failure: "\(name), number \(number): \(error)")
        }
      }
    }
    return state.outcome
  }

  private final class Progress: Sendable {
    private let state = Mutex((outcome: Outcome(), isDone: false, next: 0))

    func next() -> Int {
      state.withLock { state in
        state.next += 1
        return state.next - 1
      }
    }

    var isDone: Bool { state.withLock { $0.isDone } }
    var outcome: Outcome { state.withLock { $0.outcome } }

    func record(_ number: Int, fired: Bool) {
      state.withLock { state in
        state.outcome.runs += 1
        state.outcome.last = max(state.outcome.last, number)
        if !fired { state.isDone = true }
      }
    }

    func record(failure: String) {
      state.withLock { state in
        state.outcome.runs += 1
        state.outcome.failures.append(failure)
        if state.outcome.failures.count >= 5 { state.isDone = true }
      }
    }
  }
}
