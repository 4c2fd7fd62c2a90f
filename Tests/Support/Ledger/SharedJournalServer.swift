package import Store
import Synchronization

/// A shared journal in memory, as all of its clients see it: it commits like a primary with a
/// synchronous standby, and can lose what it did not say was durable, or more.
package final class SharedJournalServer: Sendable {
  /// What happens to one call of a client, in the order in which they were planned.
  package enum Fault: String, Sendable, CaseIterable {
    /// SQLSTATE 40001: nothing was committed.
    case serialization
    /// The connection is lost before the commit took place.
    case lostBefore
    /// The connection is lost after the commit took place.
    case lostAfter
    /// The commit took place here; whether a standby has it is not known.
    case warning
  }

  /// Everything that is committed.
  package struct Content: Sendable, Equatable {
    package var head = JournalPosition.origin
    package var dictionaries: [PackedDictionary] = []
    package var events: [PackedEvent] = []
    package var notes: [Note] = []

    func notesHash(at version: Int64) -> [UInt8]? {
      guard version <= Int64(notes.count) else { return nil }
      return notes.prefix(Int(version)).reduce(ChainHash.origin) { $1.chain(after: $0) }
    }
  }

  struct State {
    var journalId: [UInt8]?
    var trustRoots: Set<[UInt8]> = []
    var content = Content()
    /// The content after the last commit that was said to be durable.
    var durable = Content()
    /// The contents after each commit.
    var history = [Content()]
    /// The client that holds the head.
    var holder: ObjectIdentifier?
    var faults: [Fault] = []
    var isDown = false
    /// Milliseconds since 1970; nil: it has none.
    package var clock: Int64?
    var duties: [String: Duty] = [:]
    var commits = 0
  }

  struct Duty {
    var holder: String
    var epoch: Int64
    var until: Int64
    var position: [UInt8]?
  }

  let state = Mutex(State())

  package init() {}

  package var content: Content { state.withLock { $0.content } }
  package var commits: Int { state.withLock { $0.commits } }

  /// Plans the faults of the next calls that can have them.
  package func plan(_ faults: [Fault]) { state.withLock { $0.faults = faults } }

  /// Another history takes the place of what is committed.
  package func change(_ change: (inout Content) -> Void) {
    state.withLock { change(&$0.content) }
  }

  /// What its owner says that daemons must trust.
  package func trust(_ roots: Set<[UInt8]>) { state.withLock { $0.trustRoots = roots } }

  /// While it is down, every call is answered `.notNow`.
  package func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

  /// A standby that has exactly what was said to be durable takes over.
  package func failOver() {
    state.withLock { state in
      state.content = state.durable
      state.history.append(state.content)
    }
  }

  /// A backup is restored: the last commits are lost, although they were said to be durable.
  package func forget(commits count: Int) {
    state.withLock { state in
      let index = max(0, state.history.count - 1 - count)
      (state.content, state.durable) = (state.history[index], state.history[index])
      state.history.removeSubrange((index + 1)...)
    }
  }
}
