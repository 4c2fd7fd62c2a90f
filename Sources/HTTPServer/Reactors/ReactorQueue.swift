import Platform
import Synchronization

/// What other threads hand to a reactor.
enum ReactorMessage: Sendable {
  /// The response to a request whose handler returned nil.
  case response(slot: Int, ticket: UInt64, HTTPResponse)
  /// A connection that another reactor accepted for this one.
  case connection(descriptor: Int32, Peer)
}

/// The messages to one reactor.
///
/// It needs no capacity of its own: there is at most one response per request in flight, and
/// connections are counted by the `ConnectionLimiter` before they are posted.
final class ReactorQueue: Sendable {
  private struct State {
    var messages: [ReactorMessage] = []
    var isClosed = false
  }

  private let state = Mutex(State())
  let wakeup = WakeupEvent()
  /// Connections that the reactor has or is about to get, for balancing.
  let load = Atomic<Int>(0)

  /// Adds a message, and wakes the reactor if the queue was empty.
  ///
  /// - Returns: false if the queue is closed; the message is then not added.
  func post(_ message: ReactorMessage) -> Bool {
    let wakes: Bool? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.messages.append(message)
      return state.messages.count == 1
    }
    if wakes == true { wakeup.signal() }
    return wakes != nil
  }

  /// Removes and returns all messages, oldest first. Clear `wakeup` before the call: cleared
  /// afterwards, the signal of a message posted in between would be lost.
  func takeAll() -> [ReactorMessage] {
    state.withLock { state in
      guard !state.messages.isEmpty else { return [] }
      let messages = state.messages
      state.messages = []
      return messages
    }
  }

  /// Closes the queue and returns the messages that were left in it.
  func close() -> [ReactorMessage] {
    state.withLock { $0.isClosed = true }
    return takeAll()
  }
}
