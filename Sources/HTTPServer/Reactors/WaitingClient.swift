import Synchronization

/// What becomes of a client while a response to it is made on another thread.
final class WaitingClient: Sendable {
  private struct State {
    var hasEnded = false
    var isGone = false
    var closure: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Whether it sends nothing more.
  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  /// Whether its connection is closed.
  var isGone: Bool { state.withLock { $0.isGone } }

  /// Calls the closure once, when `end` or `leave` is called; now if one of them was.
  func whenItEnds(_ closure: @escaping @Sendable () -> Void) {
    let isOver = state.withLock { state in
      if !state.hasEnded { state.closure = closure }
      return state.hasEnded
    }
    if isOver { closure() }
  }

  /// The client sends nothing more, and may still read.
  func end() { change { $0.hasEnded = true } }

  /// Its connection is closed.
  func leave() {
    change { state in
      state.hasEnded = true
      state.isGone = true
    }
  }

  private func change(_ change: (inout State) -> Void) {
    let closure = state.withLock { state in
      change(&state)
      return state.closure.take()
    }
    closure?()
  }
}
