import Configuration
import Observability
import Platform
import StrictJSON
import Synchronization

/// What one mirror does now. Times are milliseconds since 1970 UTC.
public struct MirrorStatus: Sendable {
  public let name: String
  /// Hosts and ports, without user and database.
  public let address: String
  /// `up`, `filling`, `down` or `paused`.
  public var state = "down"
  public var since: Int64
  public var reason: String?
  /// Events through this one are in the database, as far as is known.
  public var seq: Int64 = 0
  public var hash: [UInt8] = []
  public var head: Int64 = 0
  /// Events that were moved since the start, and attempts that failed.
  public var moved: Int64 = 0
  public var failed: Int64 = 0
}

/// A mirror at work: what its thread and all others know of it.
final class RunningMirror: Sendable {
  let mirror: Configuration.Mirror
  let cancellation = Cancellation()
  let wakeup = WakeupEvent()
  private let shared: Mutex<Shared>

  private struct Shared {
    var status: MirrorStatus
    var isPaused: Bool
  }

  enum Report {
    case up, filling, paused
    case failed(String)
  }

  init(_ mirror: Configuration.Mirror, isPaused: Bool, at now: Int64) {
    self.mirror = mirror
    shared = Mutex(
      Shared(
        status: MirrorStatus(
          name: mirror.name, address: mirror.hosts, since: now),
        isPaused: isPaused))
  }

  var status: MirrorStatus { shared.withLock { $0.status } }

  var isPaused: Bool { shared.withLock { $0.isPaused } }

  func setPaused(_ isPaused: Bool) {
    shared.withLock { shared in
      shared.isPaused = isPaused
      guard isPaused else { return }
      (shared.status.state, shared.status.since) = ("paused", Clock.now())
    }
    wakeup.signal()
  }

  func stop() {
    cancellation.request()
    wakeup.signal()
  }

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
      case .up: shared.status.state = "up"
      case .filling: shared.status.state = "filling"
      case .paused: shared.status.state = "paused"
      case .failed(let reason):
        (shared.status.state, shared.status.reason) = ("down", reason)
        shared.status.failed += 1
      }
      if shared.status.state != before.state || before.since == 0 { shared.status.since = now }
      return (before, shared.status)
    }
    log(before, after)
  }

  private func log(_ before: MirrorStatus, _ after: MirrorStatus) {
    let name = ("sink", JSONValue.string(after.name))
    guard before.state != after.state || before.reason != after.reason else { return }
    switch after.state {
    case "down":
      Log.write(.warning, "sink_down", [name, ("reason", .optional(after.reason))])
    case "filling": Log.write(.info, "mirror_fills", [name])
    case "up": Log.write(.info, "sink_up", [name, ("seq", .integer(after.seq))])
    default: break
    }
  }
}
