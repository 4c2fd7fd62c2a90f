public import StrictJSON

extension ProjectionDiff.Summary {
  /// The `comparison` object that `rebuild --diff --json` prints.
  ///
  /// - Parameter at: the time at which access was compared, milliseconds since 1970.
  public func json(at: Int64) -> JSONValue {
    .object([("object", .string("comparison")), ("at", .integer(at))] + members)
  }

  /// Names of the members that are plain counts; those of several apps are added up.
  static let countNames = [
    "equal", "equal_but_registers", "changed", "added", "gone", "lose_access", "gain_access",
  ]

  /// The counts as members of an object, without those of single apps.
  var members: [(String, JSONValue)] {
    let counts = [equal, equalButRegisters, changed, added, gone, losing, gaining]
    let plain = zip(Self.countNames, counts).map { name, count in
      (name, JSONValue.integer(Int64(count)))
    }
    return plain + [("lost", Self.json(lost)), ("gained", Self.json(gained))]
  }

  /// Customers by reason and product.
  static func json(_ groups: [Group: Int]) -> JSONValue {
    let sorted = groups.sorted {
      ($0.key.reason, $0.key.productId ?? "") < ($1.key.reason, $1.key.productId ?? "")
    }
    return .array(
      sorted.map { group, count in
        .object([
          ("reason", .string(group.reason)), ("product_id", .optional(group.productId)),
          ("customers", .integer(Int64(count))),
        ])
      })
  }
}
