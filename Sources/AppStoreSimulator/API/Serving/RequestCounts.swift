import StrictJSON

/// How many requests came to each endpoint, in all and in the busiest second.
struct RequestCounts: Sendable {
  private struct Count {
    var all = 0
    var busiest = 0
    var second: Int64 = 0
    var inSecond = 0
  }

  private var counts: [String: Count] = [:]

  /// - Parameter now: milliseconds since 1970.
  mutating func add(_ endpoint: String, at now: Int64) {
    var count = counts[endpoint] ?? Count()
    if count.second != now / 1000 { (count.second, count.inSecond) = (now / 1000, 0) }
    count.all += 1
    count.inSecond += 1
    count.busiest = max(count.busiest, count.inSecond)
    counts[endpoint] = count
  }

  /// The endpoint of a request: the path with `{id}` in place of each id.
  static func endpoint(_ method: String, _ path: String) -> String {
    let parts = path.split(separator: "/").map { part in
      part.utf8.contains { 0x30...0x39 ~= $0 } && part.utf8.count > 3 ? "{id}" : String(part)
    }
    return "\(method) /" + parts.joined(separator: "/")
  }

  var json: JSONValue {
    .object(
      counts.sorted { $0.key < $1.key }.map { endpoint, count in
        (
          endpoint,
          .object([
            ("requests", .integer(Int64(count.all))),
            ("busiestSecond", .integer(Int64(count.busiest))),
          ])
        )
      })
  }
}
