import Synchronization

/// Set once, by any thread.
final class Flag: Sendable {
  private let state = Atomic<Bool>(false)
  var isSet: Bool { state.load(ordering: .relaxed) }
  func set() { state.store(true, ordering: .relaxed) }
}
