import AppStore
public import Entitlements
public import Platform
public import Store
import Synchronization

/// How many rows have each status, for the overview and the metrics: counted again when they are
/// asked for, but so rarely that counting takes at most a fiftieth of a processor. Thread-safe.
public final class RowCounts: Sendable {
  private struct Latest {
    var counts: ProjectionReader.Counts?
    var confirmations: [ProjectionReader.Counts.App: JournalReader.Confirmations] = [:]
    /// The products that were sold, the mappings in force, and what is in quarantine.
    var sold: [SoldProduct] = []
    var inForce: [StreamKey: EntitlementCatalog.Mapping] = [:]
    var quarantine = Quarantine()
    var refunds: [RefundCount] = []
    /// How many of them are mapped to nothing, once that was asked for.
    var unmapped: (configured: EntitlementCatalog, count: Int)?
    /// When they are counted again, nanoseconds of the monotonic clock.
    var due = Int64.min
  }

  /// What is in quarantine.
  struct Quarantine {
    var byReason: [JournalReader.QuarantineCount] = []
    /// Of the last `HourCount.kept` milliseconds.
    var byHour: [JournalReader.QuarantineHour] = []
    /// Notifications that were counted and not stored, because quarantine was full.
    var overflow: Int64 = 0
  }

  private let latest = Mutex(Latest())
  /// The shortest time between two counts, nanoseconds.
  private static let pause: Int64 = 2_000_000_000
  /// How long, in milliseconds, a customer counts as confirmed: most renew within that time, and
  /// are then heard of again.
  private static let confirmed = 30 * CivilTime.day

  public init() {}

  /// The last counts, whatever their age; nil before the first, and while no rows can be read.
  public var last: ProjectionReader.Counts? { latest.withLock { $0.counts } }

  /// What Apple said again in the last 30 days, as of the last counts.
  public var confirmations: [ProjectionReader.Counts.App: JournalReader.Confirmations] {
    latest.withLock { $0.confirmations }
  }

  /// How many products were sold that are mapped to nothing, as of the last counts; of an app of
  /// which no mapping was ever journaled, by what is configured.
  public func unmappedCount(configured: EntitlementCatalog) -> Int {
    let last = latest.withLock { $0 }
    if let unmapped = last.unmapped, unmapped.configured == configured { return unmapped.count }
    let count = configured.unmappedCount(last.sold, inForce: last.inForce)
    latest.withLock { if $0.due == last.due { $0.unmapped = (configured, count) } }
    return count
  }

  /// What is in quarantine, as of the last counts.
  var quarantine: Quarantine { latest.withLock { $0.quarantine } }

  /// The requests for refunds, as of the last counts.
  public var refunds: [RefundCount] { latest.withLock { $0.refunds } }

  /// How many notifications are in quarantine, by reason, as of the last counts.
  public var quarantined: [String: Int64] {
    quarantine.byReason.reduce(into: [:]) { $0[$1.reason, default: 0] += $1.count }
  }

  /// The counts at a time, or the last ones if they are young. Not for a thread that others wait
  /// for.
  ///
  /// - Parameter now: milliseconds since 1970.
  public func counts(_ reader: LedgerReader, at now: Int64) -> ProjectionReader.Counts? {
    let begun = Clock.monotonicNanoseconds()
    guard latest.withLock({ $0.due <= begun }) else { return last }
    let counts = try? reader.counts(at: now)
    let confirmations = try? reader.confirmations(since: now - Self.confirmed)
    let sold = try? reader.projection().soldProducts()
    let inForce = try? reader.namesInForce()
    let quarantine = try? reader.quarantine(since: now - HourCount.kept)
    let refunds = try? reader.projection().refundCounts(at: now)
    let ended = Clock.monotonicNanoseconds()
    latest.withLock { latest in
      latest.counts = counts
      latest.confirmations = confirmations ?? latest.confirmations
      latest.sold = sold ?? latest.sold
      latest.inForce = inForce ?? latest.inForce
      latest.quarantine = quarantine ?? latest.quarantine
      latest.refunds = refunds ?? latest.refunds
      latest.unmapped = nil
      latest.due = ended + max(Self.pause, 50 * (ended - begun))
    }
    return counts
  }
}

extension LedgerReader {
  fileprivate func quarantine(since time: Int64) throws(LedgerError) -> RowCounts.Quarantine {
    RowCounts.Quarantine(
      byReason: try journal.quarantineByReason(), byHour: try journal.quarantineByHour(since: time),
      overflow: try journal.quarantineCounts().overflow)
  }

  /// How many rows have each status at a time. Where the projection lacks events, the streams that
  /// have them are counted by their rows from the journal.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Throws: as `list`.
  public func counts(at now: Int64) throws(LedgerError) -> ProjectionReader.Counts {
    guard let opened = readable() else { throw .notReady(state) }
    defer { endSnapshot() }
    let later = try later(than: opened)
    let durations = durations
    let found = rows { () throws(LedgerError) -> ProjectionReader.Counts in
      var counts = try opened.reader.counts(at: now, durations: durations)
      for (key, stream) in later {
        let before = try opened.reader.row(of: key, .at(now))
        for (row, number) in [(before?.row, -1), (stream.row, 1)] as [(EntitlementRow?, Int64)] {
          let current = row?.current(at: now, durations: durations[key])
          let type = current.flatMap { row?.spans[$0.span].purchase }
            .flatMap { row?.purchases[$0].productType }
          counts.add(
            key, current?.status, givesAccess: type != ProductType.consumable, number)
        }
      }
      return counts
    }
    guard let found else { throw .notReady(state) }
    return found
  }
}
