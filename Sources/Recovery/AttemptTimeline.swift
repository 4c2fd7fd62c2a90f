import StrictJSON

/// When Apple's attempts to send failed and when they succeeded, kept by the minute, so that the
/// attempts of 180 days fit in memory.
struct AttemptTimeline: Sendable, Equatable {
  /// The first and the last attempt in a minute, milliseconds since 1970, and how many there were.
  struct Span: Sendable, Equatable {
    var first: Int64
    var last: Int64
    var count: Int64

    mutating func merge(_ other: Span) {
      first = min(first, other.first)
      last = max(last, other.last)
      count += other.count
    }
  }

  static let success = "SUCCESS"
  /// Spans by Apple's sendAttemptResult and by minutes since 1970.
  private(set) var spans: [String: [Int64: Span]] = [:]

  /// Results that are told apart at most: an answer could hold any text.
  private static let mostResults = 32
  private static let minute: Int64 = 60_000

  /// - Parameters:
  ///   - result: Apple's sendAttemptResult.
  ///   - time: of the attempt, milliseconds since 1970.
  mutating func add(_ result: String, at time: Int64) {
    add(result, Span(first: time, last: time, count: 1))
  }

  mutating func merge(_ other: AttemptTimeline) {
    for (result, minutes) in other.spans {
      for span in minutes.values { add(result, span) }
    }
  }

  private mutating func add(_ result: String, _ span: Span) {
    let isKnown = spans[result] != nil || spans.count < Self.mostResults
    let name = isKnown ? result : "OTHER"
    let empty = Span(first: .max, last: .min, count: 0)
    spans[name, default: [:]][span.first / Self.minute, default: empty].merge(span)
  }

  // MARK: Outages

  /// The outages, in the order of their beginning: for each cause, from the first failed attempt to
  /// the first attempt that succeeded after it.
  func outages() -> [Outage] {
    let successes = (spans[Self.success] ?? [:]).values.sorted { $0.first < $1.first }
    var outages: [Outage] = []
    for (cause, minutes) in spans where cause != Self.success {
      var current: Outage?
      var end: Int64?
      for span in minutes.values.sorted(by: { $0.first < $1.first }) {
        if let ended = end, ended < span.first, let outage = current {
          outages.append(outage.ending(at: ended))
          current = nil
        }
        current = Outage(
          cause: cause, from: current?.from ?? span.first,
          attempts: (current?.attempts ?? 0) + span.count)
        end = Self.first(successes, after: span.last)
      }
      if let current { outages.append(current.ending(at: end)) }
    }
    return outages.sorted { ($0.from, $0.cause) < ($1.from, $1.cause) }
  }

  /// The first success after a time, to the minute; nil if there is none.
  private static func first(_ successes: [Span], after time: Int64) -> Int64? {
    var (low, high) = (0, successes.count)
    while low < high {
      let middle = (low + high) / 2
      if successes[middle].last <= time { low = middle + 1 } else { high = middle }
    }
    guard low < successes.count else { return nil }
    return successes[low].first > time ? successes[low].first : successes[low].last
  }

  // MARK: Stored form

  var json: JSONValue {
    .object(
      spans.sorted { $0.key < $1.key }.map { result, minutes in
        let sorted = minutes.values.sorted { $0.first < $1.first }
        return (
          result,
          .array(
            sorted.map { .array([.integer($0.first), .integer($0.last), .integer($0.count)]) })
        )
      })
  }

  init() {}

  /// Nil for anything that `json` did not make.
  init?(_ element: JSONElement?) {
    guard let element, element.kind == .object else { return nil }
    for (result, list) in element.members {
      for span in list.elements {
        let numbers = span.elements.compactMap(\.integer)
        guard numbers.count == 3, numbers[0] <= numbers[1], numbers[2] > 0 else { return nil }
        add(result, Span(first: numbers[0], last: numbers[1], count: numbers[2]))
      }
    }
  }
}

/// A time in which Apple could not deliver, for one of Apple's causes.
public struct Outage: Sendable, Equatable {
  /// Apple's sendAttemptResult.
  public let cause: String
  /// The first attempt that failed, milliseconds since 1970.
  public let from: Int64
  /// The first attempt after it that succeeded; nil if none did yet.
  public private(set) var to: Int64?
  /// How many attempts failed.
  public let attempts: Int64

  init(cause: String, from: Int64, attempts: Int64) {
    (self.cause, self.from, self.attempts) = (cause, from, attempts)
  }

  func ending(at time: Int64?) -> Outage {
    var outage = self
    outage.to = time
    return outage
  }
}
