import Foundation
import Support
import Synchronization

/// Tries the first, second, … operation until a run meets no fault any more.
struct FaultLadder: Sendable {
  /// Every so manieth.
  var step = 1
  var first = 1

  struct Outcome: Sendable {
    var runs = 0
    var last = 0
    var failures: [String] = []
  }

  func climb(_ what: String, _ run: @escaping @Sendable (Int) throws -> Bool) -> Outcome {
    let state = Box()
    let (start, step) = (first, step)
    together(2) { _ in
      while !state.isDone {
        let number = start + step * state.next()
        do {
          let fired = try run(number)
          state.note(number, fired: fired)
        } catch {
          state.note(number, failure: "\(what), number \(number): \(error)")
        }
      }
    }
    return state.outcome
  }

  private final class Box: Sendable {
    private let state = Mutex((outcome: Outcome(), isDone: false, next: 0))

    func next() -> Int {
      state.withLock { state in
        state.next += 1
        return state.next - 1
      }
    }

    var isDone: Bool { state.withLock { $0.isDone } }
    var outcome: Outcome { state.withLock { $0.outcome } }

    func note(_ number: Int, fired: Bool) {
      state.withLock { state in
        state.outcome.runs += 1
        state.outcome.last = max(state.outcome.last, number)
        if !fired { state.isDone = true }
      }
    }

    func note(_ number: Int, failure: String) {
      state.withLock { state in
        state.outcome.runs += 1
        state.outcome.failures.append(failure)
        if state.outcome.failures.count >= 5 { state.isDone = true }
      }
    }
  }
}
