public import StrictJSON

/// Errors of the files in the data folder with which the daemon goes on: all are counted by part,
/// and of each event one line a minute is logged, however often it is tried again.
public enum StoreErrors {
  /// The part of the daemon that met the error.
  public enum Part: String, Sendable, CaseIterable, Comparable {
    case journal, projection, reads, recovery, customers, sinks, mirrors, anchors
    case sharedJournal = "shared_journal"

    public static func < (one: Part, other: Part) -> Bool { one.rawValue < other.rawValue }
  }

  private struct Kind: Hashable, Comparable {
    let part: Part
    let event: String

    static func < (one: Kind, other: Kind) -> Bool {
      (one.part, one.event) < (other.part, other.event)
    }
  }

  private static let counts = CounterFamily<Part>(
    maximum: Part.allCases.count, other: .journal)
  private static let log = BoundedLog<Kind>(
    LineLimit(linesPerMinute: 1), .error, sumEvent: "errors_left_out",
    members: { [("of", .string($0.event)), ("part", .string($0.part.rawValue))] })

  /// Counts an error, and logs it unless that event was logged within the last minute. That the
  /// daemon ends is none.
  ///
  /// - Parameters:
  ///   - event: the name of the line; from a small closed set.
  ///   - fields: more of the line than the error's description.
  public static func record(
    _ part: Part, _ event: String, _ error: LedgerError, _ fields: [(String, JSONValue)] = []
  ) {
    guard error.code != .stopped else { return }
    count(part)
    log.write(
      Kind(part: part, event: event), event, [("error", .string(error.description))] + fields)
  }

  /// Counts an error that has a line of its own.
  public static func count(_ part: Part) { counts.add(part) }

  /// Errors of each part since the process started, those without any too.
  public static var samples: [(part: Part, count: Int64)] {
    let found = Dictionary(uniqueKeysWithValues: counts.samples.map { ($0.key, $0.count) })
    return Part.allCases.sorted().map { (part: $0, count: found[$0] ?? 0) }
  }

  /// Says how many lines were left out in the minutes that have ended. Called about once a second.
  public static func writeSums() { log.writeSums() }

  /// Says how many lines were left out, at the end.
  public static func finish() { log.finish() }
}
