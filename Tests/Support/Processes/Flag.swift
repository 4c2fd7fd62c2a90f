import Synchronization

/// A flag that any thread may set and read. It is never reset.
package final class Flag: Sendable {
  private let state = Atomic<Bool>(false)

  package init() {}

  package var isSet: Bool { state.load(ordering: .relaxed) }
  package func set() { state.store(true, ordering: .relaxed) }
}
