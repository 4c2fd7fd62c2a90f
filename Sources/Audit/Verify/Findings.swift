public import StrictJSON

/// What checks found: of a data folder, a backup or a bundle.
public struct Findings: Sendable, Sequence {
  /// How many are retained at most: those with the lowest seqs.
  static let maximum = 1000
  private static let shown = 20

  private var retained: [Finding] = []
  /// How many there are, including those that are not retained.
  public private(set) var count = 0

  public var isEmpty: Bool { count == 0 }

  mutating func add(_ promise: Int, _ seq: Int64?, _ what: String) {
    add(Finding(promise: promise, seq: seq, what: what))
  }

  mutating func add(_ finding: Finding) {
    count += 1
    retained.append(finding)
    guard retained.count >= 2 * Self.maximum else { return }
    retained = sorted
  }

  /// The retained ones, lowest seq first.
  private var sorted: [Finding] {
    let sorted = retained.sorted { ($0.seq ?? .max, $0.promise) < ($1.seq ?? .max, $1.promise) }
    return Array(sorted.prefix(Self.maximum))
  }

  public func makeIterator() -> IndexingIterator<[Finding]> { sorted.makeIterator() }

  /// The first ones, one per line, and the number of the others.
  public var lines: [String] {
    let lines = prefix(Self.shown).map { finding in
      "promise \(finding.promise) broken"
        + (finding.seq.map { " at seq \($0)" } ?? "") + ": \(finding.what)"
    }
    return count > lines.count ? lines + ["and \(count - lines.count) more"] : lines
  }

  /// The members of a report in JSON.
  public var members: [(String, JSONValue)] {
    let items = map { finding in
      JSONValue.object([
        ("promise", .integer(Int64(finding.promise))), ("seq", .optional(finding.seq)),
        ("what", .string(finding.what)),
      ])
    }
    return [("findings", .array(items)), ("finding_count", .integer(Int64(count)))]
  }
}
