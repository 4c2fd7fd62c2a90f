public import Ledger
public import Platform
import Store
import StrictJSON

/// The daemon's thread that appends anchors to files: to one in the data folder, which keeps
/// bundles small, and to one on another volume if the configuration names it.
///
/// It reads the journal as any reader does, so it signs only what is committed and synced
/// (promise 1). Nothing waits for it. A volume that is full, slow or gone is logged when that
/// begins and when it ends, and is tried again; notifications are accepted meanwhile.
public final class AnchorService: Sendable {
  /// One of the files.
  private struct Target {
    var schedule: AnchorSchedule
    /// When appending failed, in milliseconds of the monotonic clock; nil after a success.
    var failedAt: Int64?

    var file: String { schedule.settings.file }
  }

  private let ledger: Ledger
  private let settings: [Configuration.Anchors]
  private let thread = ServiceThread("anchors")

  /// How often the head is read, in milliseconds.
  private static let pollInterval: Int64 = 1000
  /// How long to wait after a failure, in milliseconds.
  private static let retryDelay: Int64 = 5000
  /// How long `stop` waits for a volume that does not respond, in milliseconds.
  private static let stopTimeout: Int32 = 5000

  private init(_ ledger: Ledger, _ settings: [Configuration.Anchors]) {
    (self.ledger, self.settings) = (ledger, settings)
  }

  /// Starts the thread. It continues from the last anchor in each file, so that a restart alone
  /// adds none.
  ///
  /// - Parameter settings: of the file on another volume; nil if there is only that in the folder.
  /// - Throws: `LedgerError` if the thread cannot be started.
  public static func start(
    _ ledger: Ledger, _ settings: Configuration.Anchors?
  ) throws(LedgerError) -> AnchorService {
    // First: it does not wait for a volume that does not respond.
    let own = Configuration.Anchors(file: ledger.folder.anchors)
    let others = settings.map { [$0] } ?? []
    let service = AnchorService(ledger, (others.first?.file == own.file ? [] : [own]) + others)
    try service.thread.start { service.run() }
    return service
  }

  /// Anchors the head if it moved, and ends the thread. Call it after the ledger has stopped.
  public func stop() { thread.stop(within: Self.stopTimeout) }

  private func run() {
    var targets = settings.map { Target(schedule: schedule($0)) }
    while true {
      let isLast = thread.isStopping
      let now = Clock.monotonicNanoseconds() / 1_000_000
      for index in targets.indices {
        let mayTry = isLast || targets[index].failedAt.map { now - $0 >= Self.retryDelay } ?? true
        // After a failed sync, what readers see may not be on the disk.
        guard mayTry, ledger.failure == nil, isLast || ledger.duties.leases(.anchors) else {
          continue
        }
        let seqs = targets[index].schedule.due(ledger.seq, at: Clock.now(), isLast: isLast)
        guard !seqs.isEmpty else { continue }
        targets[index].failedAt = attempt(seqs, &targets[index]) ? nil : now
      }
      if isLast { return }
      thread.wait(milliseconds: Self.pollInterval)
    }
  }

  /// The schedule that continues a file.
  private func schedule(_ settings: Configuration.Anchors) -> AnchorSchedule {
    let last = last(in: settings.file)
    guard let last, last.seq > ledger.seq else { return AnchorSchedule(settings, last: last) }
    Log.write(
      .error, "anchors_ahead",
      [
        ("file", .string(settings.file)), ("anchored", .integer(last.seq)),
        ("seq", .integer(ledger.seq)),
        ("next", .string("events were lost: run subledger verify, then restore a backup")),
      ])
    // The head is due; the events before it were anchored.
    return AnchorSchedule(settings, last: (max(0, ledger.seq - 1), 0))
  }

  /// Appends anchors, and returns whether that succeeded. Logs the first failure and the first
  /// success after it.
  private func attempt(_ seqs: [Int64], _ target: inout Target) -> Bool {
    do throws(LedgerError) {
      let key = try AnchorKey.readOrMake(ledger.folder)
      let anchors = try Anchor.make(of: seqs, in: ledger.folder, at: Clock.now(), by: key)
      // Whole lines at once: what a crash leaves of them are lines, and perhaps a part of one.
      let lines = Array(anchors.map(\.line).joined(separator: [0x0A]))
      try mapError(LedgerError.anchorFile, try AppendedFile.append(line: lines, to: target.file))
      guard let last = anchors.last else { return true }
      target.schedule.record(last.seq, at: last.at)
      if target.failedAt != nil {
        Log.write(
          .info, "anchors_resumed",
          [("file", .string(target.file)), ("seq", .integer(last.seq))])
      }
      return true
    } catch {
      StoreErrors.count(.anchors)
      guard target.failedAt == nil else { return false }
      Log.write(
        .error, "anchors_failed",
        [
          ("file", .string(target.file)), ("error", .string(error.description)),
          ("next", .string("it is tried again; notifications are accepted meanwhile")),
        ])
      return false
    }
  }

  /// The last anchor in a file that is of this journal and signed by the folder's key.
  private func last(in file: String) -> (seq: Int64, at: Int64)? {
    guard let key = try? AnchorKey.read(ledger.folder)?.publicKey,
      let id = try? Anchor.journalId(of: ledger.folder),
      let tail = try? AppendedFile.tail(file, bytes: 16 * Anchor.maximumLine)
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
