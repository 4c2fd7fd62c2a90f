import Glibc

/// The niceness that a thread of this process gives itself, so that the writer gets the processor
/// first.
///
/// Ten steps of niceness give a thread about a tenth of the processor time of each thread that
/// competes with it (sched(7)).
public enum Niceness: Int32, Sendable {
  /// A reactor. Clients wait for the writer's commit, and while the writer waits for a processor
  /// nothing is being written to the disk.
  case reactor = 5
  /// A read that may take long: rows, and what proves notifications, go first.
  case longRead = 10
  /// Work that no notification and no request waits for.
  case background = 15

  /// Gives the calling thread this niceness, unless it has the same or a higher one.
  ///
  /// On Linux each thread has a niceness of its own, and the threads it starts inherit it
  /// (setpriority(2)). Where the system forbids the change, nothing happens.
  public func apply() {
    let thread = __priority_which_t(PRIO_PROCESS.rawValue)
    if getpriority(thread, 0) < rawValue { setpriority(thread, 0, rawValue) }
  }
}
