import Ledger
import Platform
import Store
import StrictJSON

/// Mirrors, as operators see them: like sinks, though each has a thread and a cursor of its own in
/// its database. Here is only stored that the folder has one, and whether it is paused.
extension DeliveryWorker {
  func adoptMirrors(_ files: Files) throws(LedgerError) {
    let current = service.configuration().mirrors
    guard current != mirrors else { return }
    let records = try files.store.sinks()
    let paused = records.filter { $0.state == SinkMachine.Condition.paused.rawValue }
    let unknown = files.store.lostNames.subtracting(records.map(\.id.name))
    service.mirrors.adopt(current, paused: Set(paused.map(\.id.name)), unknown: unknown)
    let known = unknown.union(records.map(\.id.name))
    for mirror in current where !known.contains(mirror.name) {
      unstored.append(SinkStore.Change(Self.record(of: mirror.name, .on)))
    }
    mirrors = current
  }

  /// What is stored of a mirror: its place is in its database.
  private static func record(
    of name: String, _ condition: SinkMachine.Condition
  ) -> SinkRecord {
    SinkRecord(
      SinkRecord.ID(name), seq: 0, hash: Head.empty.hash, clock: 0, state: condition.rawValue,
      since: Clock.now())
  }

  /// Does a command about a mirror.
  func performMirror(_ command: SinkCommand) -> SinkCommand.Outcome {
    let status = service.mirrors.statuses.first { $0.name == command.name }
    guard let status, mirrors.contains(where: { $0.name == command.name }) else { return .noSink }
    switch command.verb {
    case .pause:
      // What is stored then would be the folder's word that the mirror is its own.
      guard !Self.isLost(status) else { return .refused("its place is lost: nothing is written") }
      unstored.append(SinkStore.Change(Self.record(of: command.name, .paused)))
      _ = service.mirrors.pause(command.name)
    case .resume:
      let (start, refusal) = Self.start(command.from, status)
      if let refusal { return .refused(refusal) }
      unstored.append(SinkStore.Change(Self.record(of: command.name, .on)))
      _ = service.mirrors.resume(command.name, start)
    case .show: break
    case .skip, .retry, .replay, .test:
      return .refused("a mirror has rows and no messages; pause, resume and show are for it")
    }
    store(at: Clock.now(), isLast: true)
    let now = service.mirrors.statuses.first { $0.name == command.name } ?? status
    return .done(
      .object([
        ("sink", DeliveryStatus(now).json), ("held", .array([])), ("dead", .array([])),
        ("replays", .array([])),
      ]))
  }

  private static func isLost(_ status: MirrorStatus) -> Bool {
    status.state == "lost" || status.start == .unknown
  }

  /// Where a mirror goes on, as the operator says; or why it cannot.
  private static func start(
    _ from: String?, _ status: MirrorStatus
  ) -> (MirrorStart?, refusal: String?) {
    let cursor = DeliveryStatus.cursor(status.seq, status.hash)
    switch from {
    case nil where !isLost(status): return (nil, nil)
    case _ where !isLost(status):
      return (nil, "a mirror goes on where its database is, unless its place is lost")
    case "start": return (.fill, nil)
    case cursor: return (.proven, nil)
    default:
      return (
        nil,
        "its place is lost: --from start fills its tables anew with this journal, and "
          + "--from \(cursor) goes on where they are, if this journal has that place"
      )
    }
  }
}
