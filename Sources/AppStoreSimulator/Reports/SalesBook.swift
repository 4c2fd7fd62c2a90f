import Platform
import StrictJSON

/// What the simulated App Store sold and gave back in Production: the books of a fleet, from which
/// Apple's reports are written.
public struct SalesBook: Sendable {
  /// Units of one purchase that were sold or given back.
  public struct Entry: Sendable {
    public let transactionId, product, country, currency: String
    let type: String
    public let isReturn: Bool
    /// The days in Pacific Time, counted from 1970-01-01: of the purchase, and when this happened
    /// and was settled.
    public let bought: Int64
    public var day, settled: Int64
    public var units: Int64
    /// Of all units.
    public var milliunits: Int64
  }

  public var entries: [Entry] = []

  /// - Parameter notifications: in the order Apple signed them. What has seats is in no report.
  public init(_ notifications: [SimulatedNotification]) {
    var given: [String: Int64] = [:]
    for notification in notifications {
      guard let transaction = notification.transaction, transaction["multiSeatInfo"] == nil,
        transaction.text("environment") == "Production",
        let id = transaction.text("transactionId"), let price = transaction.number("price"),
        price > 0
      else { continue }
      let before = given[id] ?? 0
      if given.updateValue(before, forKey: id) == nil { add(transaction, price, "purchaseDate") }
      if notification.type == "REFUND" {
        let share = transaction.number("revocationPercentage") ?? RefundAnswer.whole
        let back = (price * share + RefundAnswer.whole / 2) / RefundAnswer.whole
        add(transaction, back - before, "revocationDate", isReturn: true)
        given[id] = back
      } else if notification.type == "REFUND_REVERSED" {
        add(transaction, before, "signedDate")
        given[id] = 0
      }
    }
  }

  private mutating func add(
    _ transaction: JSONValue, _ amount: Int64, _ date: String, isReturn: Bool = false
  ) {
    func text(_ name: String) -> String { transaction.text(name) ?? "" }
    let days = ["purchaseDate", date].map { Self.pacificDay(transaction.number($0) ?? 0) }
    let isWhole = amount == transaction.number("price")
    entries.append(
      Entry(
        transactionId: text("transactionId"), product: text("productId"),
        country: Storefront.all.first { $0.item.country == text("storefront") }?.item.code ?? "",
        currency: text("currency"),
        type: text("type").hasPrefix("Auto") ? "IAY" : text("type") == "Consumable" ? "IA1" : "IA9",
        isReturn: isReturn, bought: days[0], day: days[1], settled: days[1],
        units: isWhole ? transaction.number("quantity") ?? 1 : 1, milliunits: amount))
  }

  /// The day of a moment in Pacific Time (15 U.S.C. 260a).
  private static func pacificDay(_ time: Int64) -> Int64 {
    func sunday(_ month: Int64, _ day: Int64, hour: Int64) -> Int64 {
      let year = CivilTime(milliseconds: time).year
      let date = CivilTime(year: year, month: month, day: day)?.milliseconds ?? 0
      return date + (10 - date / CivilTime.day % 7) % 7 * CivilTime.day + hour * CivilTime.hour
    }
    let isSummer = sunday(3, 8, hour: 10)..<sunday(11, 1, hour: 9) ~= time
    return (time - (isSummer ? 7 : 8) * CivilTime.hour) / CivilTime.day
  }
}
