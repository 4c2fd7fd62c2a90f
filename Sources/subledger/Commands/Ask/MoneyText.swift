import AppStore
import Platform
import StrictJSON

/// Prices, offers and refunds as text. Nothing is rounded.
enum MoneyText {
  static func facts(_ money: JSONValue) -> [String] {
    var facts: [String] = []
    if let price = number(money["price"]) {
      facts.append(amount(price, text(money["currency"])))
    }
    if let quantity = number(money["quantity"]), quantity != 1 {
      facts.append("quantity \(quantity)")
    }
    let offer = ["offer_discount_type", "offer_identifier", "offer_period"]
      .compactMap { text(money[$0]) }
    if let type = number(money["offer_type"]) {
      let name = ValueDescriptions.offerType.text(String(type))
      facts.append((["offer \(name)"] + offer).joined(separator: " "))
    }
    return facts + refund(money)
  }

  private static func refund(_ money: JSONValue) -> [String] {
    guard let date = number(money["revocation_date"]) else { return [] }
    var facts = ["revoked as of \(Timestamp.text(date))"]
    if let type = text(money["revocation_type"]) {
      facts.append(ValueDescriptions.revocationType.text(type))
    }
    if let reason = number(money["revocation_reason"]) { facts.append("reason \(reason)") }
    if let share = number(money["revocation_percentage"]) {
      facts.append("\(thousandths(share)) %")
    }
    return facts
  }

  /// - Parameter milliunits: thousandths of the currency's unit.
  static func amount(_ milliunits: Int64, _ currency: String?) -> String {
    thousandths(milliunits, fractionDigits: digits(of: currency))
      + (currency.map { " \($0)" } ?? "")
  }

  /// The decimals of a currency that ISO 4217 names, as the console has them.
  private static func digits(of currency: String?) -> Int {
    guard let currency else { return 2 }
    return withoutDecimals.contains(currency) ? 0 : withThree.contains(currency) ? 3 : 2
  }

  private static let withoutDecimals: Set = [
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV",
    "XAF", "XOF", "XPF",
  ]
  private static let withThree: Set = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]

  private static func thousandths(_ value: Int64, fractionDigits minimum: Int = 0) -> String {
    var digits = String(value.magnitude % 1000)
    digits = String(repeating: "0", count: 3 - digits.count) + digits
    while digits.count > minimum, digits.hasSuffix("0") { digits.removeLast() }
    let whole = (value < 0 ? "-" : "") + String(value.magnitude / 1000)
    return digits.isEmpty ? whole : "\(whole).\(digits)"
  }

  private static func number(_ value: JSONValue?) -> Int64? {
    if case .integer(let number)? = value { number } else { nil }
  }

  private static func text(_ value: JSONValue?) -> String? {
    if case .string(let text)? = value { text } else { nil }
  }
}
