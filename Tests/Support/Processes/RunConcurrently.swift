import Foundation

/// Runs a body on this many threads at once, each with its number from 0, and waits for all of
/// them.
package func runConcurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let done = DispatchGroup()
  for number in 0..<count {
    done.enter()
    Thread.detachNewThread {
      body(number)
      done.leave()
    }
  }
  done.wait()
}
