import Configuration
import JournalStore
import Platform
import PostgresMirror
import StrictJSON

/// Mirrors, as operators see them: like sinks, though each has a thread and a cursor of its own in
/// its database. Here is only stored that one is paused.
extension DeliveryWorker {
  func adoptMirrors(_ files: Files) throws(StoreError) {
    let current = service.configuration().mirrors
    guard current != mirrors else { return }
    let paused = SinkMachine.Condition.paused.rawValue
    let names = try files.store.sinks().filter { $0.state == paused }.map(\.id.name)
    service.mirrors.adopt(current, paused: Set(names))
    mirrors = current
  }

  /// Does a command about a mirror.
  ///
  /// - Throws: what SQLite reports.
  func performMirror(
    _ command: SinkCommand, _ files: Files
  ) throws(StoreError) -> SinkCommand.Outcome {
    guard mirrors.contains(where: { $0.name == command.name }) else { return .noSink }
    switch command.verb {
    case .pause, .resume:
      guard command.from == nil else {
        return .refused("a mirror goes on where its database is; it is filled anew if it must be")
      }
      let isPaused = command.verb == .pause
      guard let status = service.mirrors.setPaused(isPaused, command.name) else { return .noSink }
      let record = SinkRecord(
        SinkRecord.ID(command.name), seq: status.seq, hash: status.hash, clock: 0,
        state: isPaused ? SinkMachine.Condition.paused.rawValue : "on", since: Clock.now())
      try files.store.commit([SinkStore.Change(record)])
    case .show: break
    case .skip, .retry, .replay, .test:
      return .refused("a mirror has rows and no messages; pause, resume and show are for it")
    }
    guard let status = service.mirrors.statuses.first(where: { $0.name == command.name }) else {
      return .noSink
    }
    return .done(
      .object([
        ("sink", DeliveryStatus(status).json), ("held", .array([])), ("dead", .array([])),
        ("replays", .array([])),
      ]))
  }
}
