import AppStore
import Entitlements

/// The row of one customer, as every route returns it.
extension Schemas {
  static let entitlement = Schema.object(
    [
      object("entitlement")
    ]
      + RowField.members.filter { $0.name != "anomaly" }.flatMap { member in
        (member.name == "event_count" ? times : []) + [(member.name, schema(member))]
      },
    optional: [
      (
        "period_ends_at",
        .optional(
          .time(
            "The end of the current billing period, where `expires_at` is the end of all that is "
              + "paid for; null if the product does not expire."))
      ), confirmedAt,
      (
        "accounts",
        .list(
          .text(
            "An account of yours that has the purchase, the first 20 to claim it. Absent if none "
              + "has."))
      ),
      (
        "account_count",
        .integer("How many accounts have it. Absent if none has.")
      ),
      (
        "shared_by_accounts",
        .boolean("More than one account has it. True or absent.")
      ),
      (
        "anomaly",
        .boolean(
          "A transaction has a date, price or quantity that no purchase has. True or absent.")
      ),
    ])

  /// Of the row and of the timeline.
  static let confirmedAt = (
    "confirmed_at",
    Schema.time("When Apple, asked for it, last said the same. Absent if it was not asked.")
  )

  static let offerType = Schema.integer("Apple's offerType: \(ValueDescriptions.offerType.list).")
  static let offerDiscountType = Schema.text(
    "Apple's offerDiscountType: \(ValueDescriptions.offerDiscountType.list).")

  private static let times: [(String, Schema)] = [
    ("as_of", .time("The time that this answer is for.")),
    (
      "known_at",
      .optional(
        .time(
          "Only what had been received by then is used; null if everything is. It rests on the "
            + "journal's receive times: this machine's clock, except that they never decrease. "
            + "After a clock that was ahead, events keep the time of the last one before them."))
    ),
  ]

  private static func schema(_ member: RowField.Member) -> Schema {
    guard member.isObject else { return schema(member.fields[0].field) }
    return .optional(.object(member.fields.map { ($0.name, schema($0.field)) }))
  }

  private static func schema(_ field: RowField) -> Schema {
    let schema: Schema =
      switch field.kind {
      case .text, .uuid: .text(field.meaning)
      case .integer: .integer(field.meaning)
      case .flag: .boolean(field.meaning)
      case .time: .time(field.meaning)
      case .oneOf(let values): .oneOf(values, field.meaning)
      }
    return field.isOptional ? .optional(schema) : schema
  }
}
