import StrictJSON

/// Apple's limits of one environment: which requests exceed them, by call.
///
/// Apple names requests a second and enforces them by the hour. Both are counted; which of them is
/// enforced is a choice.
struct RateLimits: Sendable {
  /// Within which time the limit holds.
  enum Window: String, CaseIterable { case hour, second, off }

  private struct Count {
    var requests = 0
    /// Refused with 429.
    var refused = 0
    /// More than the limit within a second, whether refused or not.
    var aboveRate = 0
    /// When the running hour began, milliseconds since 1970, and its requests.
    var hour: Int64
    var inHour = 0
    var busiestHour = 0
    /// A token bucket that holds one second's worth.
    var available: Double
    var updated: Int64
  }

  private let share: Double
  private var counts: [Operation.Kind: Count] = [:]

  init(_ environment: Environment) { share = environment == .production ? 1 : 0.1 }

  /// Requests a second. `share` is of the limits in Production.
  private func limit(_ kind: Operation.Kind) -> Double { kind.limit * share }

  /// Counts a request.
  ///
  /// - Parameter now: milliseconds since 1970.
  /// - Returns: when the next request may be sent, milliseconds since 1970, if this one is to be
  ///   refused; else nil.
  mutating func add(_ kind: Operation.Kind, at now: Int64, _ window: Window) -> Int64? {
    let limit = limit(kind)
    let capacity = max(1, limit)
    var count = counts[kind] ?? Count(hour: now, available: capacity, updated: now)
    defer { counts[kind] = count }
    count.requests += 1
    let passed = Double(max(0, now - count.updated)) / 1000
    count.available = min(capacity, count.available + passed * limit)
    count.updated = max(now, count.updated)
    if now - count.hour >= 3_600_000 { (count.hour, count.inHour) = (now, 0) }
    var refusedUntil: Int64?
    if count.available < 1 {
      count.aboveRate += 1
      if window == .second {
        refusedUntil = now + Int64(((1 - count.available) / limit * 1000).rounded(.up))
      }
    } else {
      count.available -= 1
    }
    if window == .hour && Double(count.inHour) >= limit * 3600 {
      refusedUntil = count.hour + 3_600_000
    }
    if refusedUntil != nil { count.refused += 1 } else { count.inHour += 1 }
    count.busiestHour = max(count.busiestHour, count.inHour)
    return refusedUntil
  }

  /// By Apple's name of the call.
  var json: JSONValue {
    .object(
      counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { kind, count in
        (
          kind.rawValue,
          .object([
            ("hourlyLimit", .integer(Int64(limit(kind) * 3600))),
            ("requests", .integer(Int64(count.requests))),
            ("busiestHour", .integer(Int64(count.busiestHour))),
            ("aboveRate", .integer(Int64(count.aboveRate))),
            ("refused", .integer(Int64(count.refused))),
          ])
        )
      })
  }
}
