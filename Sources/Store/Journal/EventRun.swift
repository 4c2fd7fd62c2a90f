import Synchronization

/// Consecutive events of a file. After one of them is refused, the following ones are not
/// journaled, in the same batch or in a later one.
public final class EventRun: Sendable {
  private let ended = Atomic<Bool>(false)

  public init() {}

  func end() { ended.store(true, ordering: .relaxed) }
  var isEnded: Bool { ended.load(ordering: .relaxed) }
}
