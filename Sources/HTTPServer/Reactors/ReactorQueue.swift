import Platform
import Synchronization

/// What other threads hand to a reactor: answers, and connections another reactor accepted for it.
///
/// Bounded by what it carries: at most one answer a request in flight, and counted connections.
final class ReactorQueue: Sendable {
  enum ReactorMessage: Sendable {
    case answer(slot: Int, ticket: UInt64, HTTPResponse)
    case connection(descriptor: Int32, Peer)
  }

  private struct State {
    var letters: [ReactorMessage] = []
    var closed = false
  }

  private let state = Mutex(State())
  let bell = WakeupEvent()
  /// Connections that the reactor has or is about to get: what balancing goes by.
  let load = Atomic<Int>(0)

  /// Adds a letter and rings once a batch: only the first into an empty box. False when closed.
  func post(_ letter: ReactorMessage) -> Bool {
    let wake: Bool? = state.withLock { state in
      guard !state.closed else { return nil }
      state.letters.append(letter)
      return state.letters.count == 1
    }
    if wake == true { bell.ring() }
    return wake != nil
  }

  /// All letters so far, oldest first. Silence the bell first, or a ring may be lost.
  func takeAll() -> [ReactorMessage] {
    state.withLock { state in
      guard !state.letters.isEmpty else { return [] }
      let letters = state.letters
      state.letters = []
      return letters
    }
  }

  /// Takes no more letters and returns those that were left.
  func close() -> [ReactorMessage] {
    state.withLock { $0.closed = true }
    return takeAll()
  }
}
