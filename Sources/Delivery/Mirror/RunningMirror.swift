import Ledger
import Platform
import StrictJSON
import Synchronization

/// What one mirror does now. Times are milliseconds since 1970 UTC.
struct MirrorStatus: Sendable {
  let name: String
  /// Hosts and ports, without user and database.
  let address: String
  /// `up`, `filling`, `down`, `lost` or `paused`.
  var state = "down"
  var since: Int64
  var reason: String?
  /// Events through this one are in the database, as far as is known.
  var seq: Int64 = 0
  var hash: [UInt8] = []
  var head: Int64 = 0
  /// Events that were moved since the start, and attempts that failed.
  var moved: Int64 = 0
  var failed: Int64 = 0
  /// Where it goes on that has rows already.
  var start: MirrorStart
}

/// Where a mirror goes on that has rows already.
enum MirrorStart: Sendable {
  /// Where its tables are, if that is a place in this journal.
  case proven
  /// Nowhere yet: this data folder forgot that it had the mirror, so it may be another's.
  case unknown
  /// Anew, with all rows of this journal, whatever the tables say.
  case fill
}

/// A mirror at work: what its thread and all others know of it.
final class RunningMirror: Sendable {
  let mirror: Configuration.Mirror
  let thread = ServiceThread("mirror", .background)
  private let shared: Mutex<Shared>

  private struct Shared {
    var status: MirrorStatus
    var isPaused: Bool
  }

  enum Report {
    case up, filling, paused
    case failed(String)
    case lost(String)
  }

  init(
    _ mirror: Configuration.Mirror, isPaused: Bool, _ start: MirrorStart, at now: Int64
  ) {
    self.mirror = mirror
    shared = Mutex(
      Shared(
        status: MirrorStatus(
          name: mirror.name, address: mirror.hosts, since: now, start: start),
        isPaused: isPaused))
  }

  var status: MirrorStatus { shared.withLock { $0.status } }

  var isPaused: Bool { shared.withLock { $0.isPaused } }

  func pause() {
    shared.withLock { shared in
      shared.isPaused = true
      (shared.status.state, shared.status.since) = ("paused", Clock.now())
    }
    thread.wake()
  }

  /// - Parameter start: nil if it stays as it was.
  func resume(_ start: MirrorStart?) {
    shared.withLock { shared in
      shared.isPaused = false
      shared.status.start = start ?? shared.status.start
      (shared.status.state, shared.status.since) = ("down", Clock.now())
      shared.status.reason = "it connects"
    }
    thread.wake()
  }

  var start: MirrorStart { shared.withLock { $0.status.start } }

  /// Notes that its rows are those of this journal.
  func filled() { shared.withLock { $0.status.start = .proven } }

  /// Tells what the mirror does, and logs what changed.
  func report(
    _ report: Report, at state: MirrorTables.State?, head: Int64, moved: Int = 0
  ) {
    let now = Clock.now()
    let (before, after) = shared.withLock { shared in
      let before = shared.status
      shared.status.head = head
      shared.status.moved += Int64(moved)
      if let state, state.journalId != nil {
        (shared.status.seq, shared.status.hash) = (state.seq, state.hash)
      }
      shared.status.reason = nil
      switch report {
      case .up:
        let isOlder = state.map { $0.layout < MirrorSchema.layout } ?? false
        (shared.status.state, shared.status.reason) = ("up", isOlder ? Self.lacksColumns : nil)
      case .filling: shared.status.state = "filling"
      case .paused: shared.status.state = "paused"
      case .failed(let reason):
        (shared.status.state, shared.status.reason) = ("down", reason)
        shared.status.failed += 1
      case .lost(let reason):
        (shared.status.state, shared.status.reason) = ("lost", reason)
      }
      if shared.status.state != before.state || before.since == 0 { shared.status.since = now }
      return (before, shared.status)
    }
    log(before, after)
  }

  /// It is filled without them until then.
  private static let lacksColumns =
    "its tables lack columns that this program has: let their owner run what "
    + "`subledger sink mirror-schema` prints"

  private func log(_ before: MirrorStatus, _ after: MirrorStatus) {
    let name = ("sink", JSONValue.string(after.name))
    guard before.state != after.state || before.reason != after.reason else { return }
    switch after.state {
    case "down":
      Log.write(.warning, "sink_down", [name, ("reason", .optional(after.reason))])
    case "lost":
      Log.write(
        .warning, "sink_lost",
        [
          name, ("reason", .optional(after.reason)),
          ("next", .string("say where it goes on: subledger sink resume \(after.name) --from …")),
        ])
    case "filling": Log.write(.info, "mirror_fills", [name])
    case "up":
      let reason = after.reason.map { [("reason", JSONValue.string($0))] } ?? []
      Log.write(
        after.reason == nil ? .info : .warning, "sink_up",
        [name, ("seq", .integer(after.seq))] + reason)
    default: break
    }
  }
}
