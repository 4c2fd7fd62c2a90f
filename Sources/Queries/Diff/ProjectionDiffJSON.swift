public import StrictJSON

extension ProjectionDiff.Summary {
  /// The `comparison` object that `rebuild --diff --json` prints.
  ///
  /// - Parameter at: the time at which access was compared, milliseconds since 1970.
  public func json(at: Int64) -> JSONValue {
    JSONObject([.type("comparison"), JSONMember("at", .time()) { _ in at }] + Self.counts).json(
      self)
  }

  /// What is counted row by row; customers are counted by `Group`.
  static let rowCounts:
    [(name: String, count: any WritableKeyPath<Self, Int> & Sendable, meaning: String)] = [
      ("equal", \.equal, "The rows that are equal."),
      ("changed", \.changed, ""),
      ("changed_now", \.changedNow, "The changed rows whose answer for now differs."),
      ("changed_past", \.changedPast, "Those that differ for earlier times, not for now."),
      ("changed_later", \.changedLater, "Those that differ for later times alone."),
      ("added", \.added, ""), ("gone", \.gone, ""),
    ]

  /// The counts as members of an object, without those of single apps.
  static let counts: [JSONMember<Self>] =
    rowCounts.map { name, count, meaning in
      JSONMember(name, .integer(meaning)) { $0[keyPath: count] }
    } + [
      JSONMember("lose_access", .integer("The customers who lose access.")) { $0.losing },
      JSONMember("gain_access", .integer("The customers who gain access.")) { $0.gaining },
      JSONMember("lost", listOf: group) { sorted($0.lost) },
      JSONMember("gained", listOf: group) { sorted($0.gained) },
    ]

  /// Customers by reason and product.
  public static let group = JSONObject<(key: Group, value: Int)>(
    "ComparisonGroup",
    [
      JSONMember("reason", .text("The status before and the status after.")) { $0.key.reason },
      JSONMember("product_id", .text()) { $0.key.productId },
      JSONMember("customers", .integer()) { $0.value },
    ])

  private static func sorted(_ groups: [Group: Int]) -> [(key: Group, value: Int)] {
    groups.sorted {
      ($0.key.reason, $0.key.productId ?? "") < ($1.key.reason, $1.key.productId ?? "")
    }
  }
}
