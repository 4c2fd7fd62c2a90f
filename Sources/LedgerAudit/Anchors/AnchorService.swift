public import Configuration
public import LedgerEngine
import Observability
public import Platform
import StrictJSON
import Synchronization

/// When the head is anchored: a value that is asked, and told.
struct AnchorSchedule {
  let settings: Configuration.Anchors
  /// What was anchored last, and when; nil: nothing yet.
  private(set) var last: (seq: Int64, at: Int64)?

  init(_ settings: Configuration.Anchors, last: (seq: Int64, at: Int64)? = nil) {
    self.settings = settings
    self.last = last
  }

  /// Whether a head moved far enough, or moved and waited long enough.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970 UTC. One that was set back has waited, too.
  ///   - isLast: there will be no later head.
  func isDue(_ seq: Int64, at now: Int64, isLast: Bool = false) -> Bool {
    guard let last else { return seq > 0 }
    guard seq > last.seq else { return false }
    let minutes = (now - last.at) / 60_000
    return isLast || seq - last.seq >= settings.events || minutes >= settings.minutes
      || now < last.at
  }

  mutating func note(_ seq: Int64, at time: Int64) { last = (seq, time) }
}

/// The daemon's thread that appends anchors to a file on another volume.
///
/// It reads the head as any reader does, so it signs only what is committed and synced (promise 1).
/// Nothing waits for it: a volume that is full, slow or gone is logged when that begins and when it
/// ends, and tried again; notifications are taken meanwhile.
public final class AnchorService: Sendable {
  private let ledger: Ledger
  private let settings: Configuration.Anchors
  private let bell = WakeupEvent()
  private let ended = WakeupEvent()
  private let isEnding = Atomic<Bool>(false)

  /// How often the head is looked at, in milliseconds.
  private static let interval: Int32 = 1000
  /// How long to wait after a failure, in milliseconds.
  private static let pause: Int64 = 5000
  /// How long the end waits for a volume that does not answer, in milliseconds.
  private static let patience: Int32 = 5000

  private init(_ ledger: Ledger, _ settings: Configuration.Anchors) {
    (self.ledger, self.settings) = (ledger, settings)
  }

  /// Starts the thread. The last anchor in the file counts, so that a restart adds none by itself.
  public static func start(
    _ ledger: Ledger, _ settings: Configuration.Anchors
  ) throws(PlatformError) -> AnchorService {
    let service = AnchorService(ledger, settings)
    _ = try Thread.start("anchors") {
      service.run()
      service.ended.ring()
    }
    return service
  }

  /// Anchors the head where it moved, and ends. Call once the ledger has stopped.
  public func stop() {
    isEnding.store(true, ordering: .sequentiallyConsistent)
    bell.ring()
    ended.wait(milliseconds: Self.patience)
  }

  private func run() {
    var rhythm = AnchorSchedule(settings, last: lastInFile())
    if let last = rhythm.last, last.seq > ledger.seq {
      Log.write(
        .error, "anchors_ahead",
        [
          ("file", .string(settings.file)), ("anchored", .integer(last.seq)),
          ("seq", .integer(ledger.seq)),
          ("next", .string("events were lost: run subledger verify, then restore a backup")),
        ])
      rhythm = AnchorSchedule(settings)
    }
    var failedAt: Int64?
    while true {
      let isLast = isEnding.load(ordering: .sequentiallyConsistent)
      let now = Clock.monotonicNanoseconds() / 1_000_000
      let mayTry = isLast || failedAt.map { now - $0 >= Self.pause } ?? true
      // After a failed sync what readers see need not be on the disk.
      if mayTry, ledger.failure == nil,
        rhythm.isDue(ledger.seq, at: Clock.now(), isLast: isLast)
      {
        failedAt = attempt(&rhythm, hasFailed: failedAt != nil) ? nil : now
      }
      if isLast { return }
      bell.wait(milliseconds: Self.interval)
    }
  }

  /// Whether an anchor was appended. Logs only where that is news.
  private func attempt(_ rhythm: inout AnchorSchedule, hasFailed: Bool) -> Bool {
    do throws(AnchorError) {
      let key = try AnchorKey.readOrMake(ledger.folder)
      let anchor = try Anchor.make(of: ledger.folder, at: Clock.now(), by: key)
      try AnchorError.platform { () throws(PlatformError) in
        try AppendedFile.append(line: anchor.line, to: settings.file)
      }
      rhythm.note(anchor.seq, at: anchor.at)
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
          ("next", .string("it is tried again; notifications are taken meanwhile")),
        ])
      return false
    }
  }

  /// The file's last anchor of this journal that this key signed.
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
