public import Configuration
public import LedgerEngine
import Observability
public import Platform
import StrictJSON
import Synchronization

/// The daemon's thread that appends anchors to a file on another volume.
///
/// It reads the head as any reader does, so it signs only what is committed and synced (promise 1).
/// Nothing waits for it. A volume that is full, slow or gone is logged when that begins and when it
/// ends, and is tried again; notifications are accepted meanwhile.
public final class AnchorService: Sendable {
  private let ledger: Ledger
  private let settings: Configuration.Anchors
  private let wakeup = WakeupEvent()
  private let ended = WakeupEvent()
  private let isStopping = Atomic<Bool>(false)

  /// How often the head is read, in milliseconds.
  private static let pollInterval: Int32 = 1000
  /// How long to wait after a failure, in milliseconds.
  private static let retryDelay: Int64 = 5000
  /// How long `stop` waits for a volume that does not respond, in milliseconds.
  private static let stopTimeout: Int32 = 5000

  private init(_ ledger: Ledger, _ settings: Configuration.Anchors) {
    (self.ledger, self.settings) = (ledger, settings)
  }

  /// Starts the thread. It continues from the last anchor in the file, so that a restart alone adds
  /// none.
  ///
  /// - Throws: `PlatformError` if the thread cannot be started.
  public static func start(
    _ ledger: Ledger, _ settings: Configuration.Anchors
  ) throws(PlatformError) -> AnchorService {
    let service = AnchorService(ledger, settings)
    _ = try Thread.start("anchors") {
      service.run()
      service.ended.signal()
    }
    return service
  }

  /// Anchors the head if it moved, and ends the thread. Call it after the ledger has stopped.
  public func stop() {
    isStopping.store(true, ordering: .sequentiallyConsistent)
    wakeup.signal()
    ended.wait(milliseconds: Self.stopTimeout)
  }

  private func run() {
    var schedule = AnchorSchedule(settings, last: lastInFile())
    if let last = schedule.last, last.seq > ledger.seq {
      Log.write(
        .error, "anchors_ahead",
        [
          ("file", .string(settings.file)), ("anchored", .integer(last.seq)),
          ("seq", .integer(ledger.seq)),
          ("next", .string("events were lost: run subledger verify, then restore a backup")),
        ])
      schedule = AnchorSchedule(settings)
    }
    var failedAt: Int64?
    while true {
      let isLast = isStopping.load(ordering: .sequentiallyConsistent)
      let now = Clock.monotonicNanoseconds() / 1_000_000
      let mayTry = isLast || failedAt.map { now - $0 >= Self.retryDelay } ?? true
      // After a failed sync, what readers see may not be on the disk.
      if mayTry, ledger.failure == nil,
        schedule.isDue(ledger.seq, at: Clock.now(), isLast: isLast)
      {
        failedAt = attempt(&schedule, hasFailed: failedAt != nil) ? nil : now
      }
      if isLast { return }
      wakeup.wait(milliseconds: Self.pollInterval)
    }
  }

  /// Appends an anchor, and returns whether that succeeded. Logs the first failure and the first
  /// success after it.
  private func attempt(_ schedule: inout AnchorSchedule, hasFailed: Bool) -> Bool {
    do throws(AnchorError) {
      let key = try AnchorKey.readOrMake(ledger.folder)
      let anchor = try Anchor.make(of: ledger.folder, at: Clock.now(), by: key)
      try mapError(AnchorError.init, try AppendedFile.append(line: anchor.line, to: settings.file))
      schedule.record(anchor.seq, at: anchor.at)
      if hasFailed {
        Log.write(
          .info, "anchors_resumed",
          [("file", .string(settings.file)), ("seq", .integer(anchor.seq))])
      }
      return true
    } catch {
      guard !hasFailed else { return false }
      Log.write(
        .error, "anchors_failed",
        [
          ("error", .string(error.description)),
          ("next", .string("it is tried again; notifications are accepted meanwhile")),
        ])
      return false
    }
  }

  /// The last anchor in the file that is of this journal and signed by the folder's key.
  private func lastInFile() -> (seq: Int64, at: Int64)? {
    guard let key = try? AnchorKey.read(ledger.folder)?.publicKey,
      let id = try? Anchor.journalId(of: ledger.folder),
      let tail = try? AppendedFile.tail(settings.file, bytes: 16 * Anchor.maximumLine)
    else { return nil }
    for line in tail.split(separator: 0x0A).reversed() {
      if let anchor = Anchor(parsing: Array(line)), anchor.journalId == id,
        anchor.isSigned(by: key)
      {
        return (anchor.seq, anchor.at)
      }
    }
    return nil
  }
}
