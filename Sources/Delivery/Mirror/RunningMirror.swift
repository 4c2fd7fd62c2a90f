import Ledger
import Platform
import Store
import StrictJSON
import Synchronization

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
    var status: DeliveryStatus
    var start: MirrorStart
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
    var status = DeliveryStatus(
      id: SinkRecord.ID(mirror.name), kind: "mirror", url: mirror.hosts, state: "down", since: now)
    status.reason = "it has not begun"
    shared = Mutex(Shared(status: status, start: start, isPaused: isPaused))
  }

  var status: DeliveryStatus { shared.withLock { $0.status } }

  var start: MirrorStart { shared.withLock { $0.start } }

  var isPaused: Bool { shared.withLock { $0.isPaused } }

  /// Whether it cannot go on before the operator says where.
  var isLost: Bool { shared.withLock { $0.status.state == "lost" || $0.start == .unknown } }

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
      shared.start = start ?? shared.start
      (shared.status.state, shared.status.since) = ("down", Clock.now())
      shared.status.reason = "it connects"
    }
    thread.wake()
  }

  /// Notes that its rows are those of this journal.
  func filled() { shared.withLock { $0.start = .proven } }

  /// Tells what the mirror does, and logs what changed.
  func report(
    _ report: Report, at state: MirrorTables.State?, head: Int64, moved: Int = 0
  ) {
    let (before, after) = shared.withLock { shared in
      let before = shared.status
      Self.tell(report, state, &shared.status)
      shared.status.end = head
      shared.status.counts.delivered += Int64(moved)
      if shared.status.state != before.state { shared.status.since = Clock.now() }
      return (before, shared.status)
    }
    if before.state != after.state || before.reason != after.reason { log(after) }
  }

  private static func tell(
    _ report: Report, _ state: MirrorTables.State?, _ status: inout DeliveryStatus
  ) {
    if let state, state.journalId != nil { (status.seq, status.hash) = (state.seq, state.hash) }
    status.reason = nil
    switch report {
    case .up:
      let isOlder = state.map { $0.layout < MirrorSchema.layout } ?? false
      (status.state, status.reason) = ("up", isOlder ? lacksColumns : nil)
    case .filling: status.state = "filling"
    case .paused: status.state = "paused"
    case .failed(let reason):
      (status.state, status.reason) = ("down", reason)
      status.counts.failed += 1
    case .lost(let reason): (status.state, status.reason) = ("lost", reason)
    }
  }

  /// It is filled without them until then.
  private static let lacksColumns =
    "its tables lack columns or views that this program has: let their owner run what "
    + "`subledger sink mirror-schema` prints"

  private func log(_ status: DeliveryStatus) {
    let name = ("sink", JSONValue.string(status.id.name))
    switch status.state {
    case "down": Log.write(.warning, "sink_down", [name, ("reason", .optional(status.reason))])
    case "lost": DeliveryStatus.logLost(status.id.name, status.reason)
    case "filling": Log.write(.info, "mirror_fills", [name])
    case "up":
      let reason = status.reason.map { [("reason", JSONValue.string($0))] } ?? []
      Log.write(
        status.reason == nil ? .info : .warning, "sink_up",
        [name, ("seq", .integer(status.seq))] + reason)
    default: break
    }
  }
}
