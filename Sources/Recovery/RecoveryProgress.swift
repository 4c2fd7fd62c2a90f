import AppStore
import Clients
public import Platform
public import Store
import StrictJSON

/// Which slices of a recovery are done, in a file beside the journal: a line for the plan, then one
/// for each slice. The file is disposable: without it, the slices are asked for again.
public final class RecoveryProgress {
  /// A slice of one app and environment.
  struct Key: Hashable {
    let environment: String
    let bundleId: String
    let slice: RecoveryPlan.Slice

    init(_ account: AppStoreAccount, _ slice: RecoveryPlan.Slice) {
      (environment, bundleId) = (account.environment.rawValue, account.bundleId)
      self.slice = slice
    }

    init?(_ root: JSONElement) {
      guard let environment = root["environment"]?.string,
        let bundleId = root["bundle_id"]?.string, let from = root["from"]?.integer,
        let to = root["to"]?.integer
      else { return nil }
      (self.environment, self.bundleId) = (environment, bundleId)
      slice = RecoveryPlan.Slice(from: from, to: to)
    }
  }

  /// The plan that is carried out: that of the interrupted run if there is one.
  public let plan: RecoveryPlan
  /// Whether an interrupted run goes on.
  public let isResumed: Bool
  private(set) var done: [Key: SliceResult] = [:]
  private let path: String

  /// How long after its beginning an interrupted run may go on, in milliseconds: the later it is,
  /// the less of what is done is still true.
  private static let mostAge = CivilTime.day
  private static let mostBytes = 1 << 28

  /// Reads the progress of an interrupted run of the same plan in the same journal, or begins a new
  /// one.
  ///
  /// - Parameter scope: what else the run is limited to, as text.
  /// - Throws: `LedgerError` if the journal cannot be read or the file cannot be written.
  public init(
    _ folder: DataFolder, _ journal: JournalReader, _ plan: RecoveryPlan, scope: String
  ) throws(LedgerError) {
    path = folder.recoveryProgress
    let id = Hexadecimal.encode(try journal.journalId())
    let lines = Self.lines(path)
    if let first = lines.first, let known = Self.plan(first, plan, scope, id) {
      (self.plan, isResumed) = (known, true)
      for line in lines.dropFirst() {
        guard let key = Key(line), let result = SliceResult(line) else { continue }
        done[key] = result
      }
    } else {
      (self.plan, isResumed) = (plan, false)
      let header = JSONValue.object([
        ("object", .string("recovery")), ("journal_id", .string(id)), ("scope", .string(scope)),
        ("since", .optional(plan.since)), ("until", .optional(plan.until)),
        ("started_at", .integer(plan.startedAt)), ("start_seq", .integer(plan.startSeq)),
      ])
      try DurableFile.write(header.bytes + [0x0A], to: path)
    }
  }

  /// Stores that a slice is done. If that fails, the slice is only asked for again.
  func add(_ result: SliceResult, _ key: Key) {
    done[key] = result
    let line = JSONValue.object(
      [
        ("environment", .string(key.environment)), ("bundle_id", .string(key.bundleId)),
        ("from", .integer(key.slice.from)), ("to", .integer(key.slice.to)),
      ] + result.members)
    try? AppendedFile.append(line: line.bytes, to: path)
  }

  /// Removes the file: the run came to its end.
  public func finish() { try? DurableFile.remove(path) }

  // MARK: Reading

  /// The lines that are whole.
  private static func lines(_ path: String) -> [JSONElement] {
    guard let bytes = try? DurableFile.read(path, limit: mostBytes) else { return [] }
    return bytes.split(separator: 0x0A).compactMap {
      try? JSONDocument(parsing: Array($0)).root
    }
  }

  /// The plan of a header; nil if it is another one.
  private static func plan(
    _ root: JSONElement, _ wanted: RecoveryPlan, _ scope: String, _ journalId: String
  ) -> RecoveryPlan? {
    guard root["object"]?.string == "recovery", root["journal_id"]?.string == journalId,
      root["scope"]?.string == scope, root["since"]?.integer == wanted.since,
      root["until"]?.integer == wanted.until, let startedAt = root["started_at"]?.integer,
      let startSeq = root["start_seq"]?.integer, startSeq <= wanted.startSeq,
      (0...mostAge).contains(wanted.startedAt.subtractingReportingOverflow(startedAt).partialValue)
    else { return nil }
    return RecoveryPlan(
      since: wanted.since, until: wanted.until, onlyFailures: wanted.onlyFailures,
      startedAt: startedAt, startSeq: startSeq)
  }
}
