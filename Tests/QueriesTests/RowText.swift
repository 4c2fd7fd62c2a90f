import Queries
import StrictJSON

/// A row in the notation of `Fixtures/README.txt`, made from the JSON that the API answers.
enum RowText {
  static func of(_ row: RowDocument?) -> String {
    guard let json = row?.json else { return "no row" }
    var text = (flag(json["gives_access"]) ?? false) ? "✓ " : "✗ "
    text += (string(json["status"]) ?? "?").replacing("_", with: " ")
    text += " " + (string(json["product_id"]) ?? "?")
    if let date = number(json["expires_at"]) { text += " until " + ScenarioSyntax.text(date) }
    var parts = [renewal(json)]
    parts.append(
      number(json["grace_period_expires_at"]).map { "grace to " + ScenarioSyntax.text($0) })
    parts.append(number(json["revoked_at"]).map { "revoked " + ScenarioSyntax.text($0) })
    parts.append(string(json["price_increase"]).map(price))
    parts.append(offer(json["offer"]))
    parts.append(commitment(json["commitment"]))
    parts.append(string(json["ownership"]).flatMap(ownership))
    parts.append(flag(json["gap"]) == true ? "gap" : nil)
    return ([text] + parts.compactMap { $0 }).joined(separator: ", ")
  }

  private static func renewal(_ json: JSONValue) -> String? {
    guard let renews = flag(json["auto_renew"]) else { return nil }
    guard renews else { return "ends" }
    return "renews" + (string(json["pending_product_id"]).map { " as " + $0 } ?? "")
  }

  private static func price(_ status: String) -> String {
    status == "pending" ? "price asked" : "price agreed"
  }

  private static func offer(_ offer: JSONValue?) -> String? {
    guard let type = number(offer?["type"]) else { return nil }
    let names: [Int64: String] = [
      1: "intro", 2: "promo", 3: "code", 4: "win-back", 5: "retention",
    ]
    let kind = names[type] ?? "offer \(type)"
    if string(offer?["discount_type"]) == "FREE_TRIAL" { return "trial" }
    return kind + (string(offer?["identifier"]).map { " " + $0 } ?? "")
  }

  private static func ownership(_ name: String) -> String? {
    switch name {
    case "PURCHASED": nil
    case "FAMILY_SHARED": "family"
    case "ASSIGNED": "seat"
    default: "owned \(name)"
    }
  }

  private static func commitment(_ commitment: JSONValue?) -> String? {
    guard let commitment, let period = number(commitment["period"]) else { return nil }
    let periods = number(commitment["periods"]) ?? 0
    let end = number(commitment["ends_at"]).map(ScenarioSyntax.text) ?? "?"
    let renews = flag(commitment["auto_renew"]).map { $0 ? "renews" : "ends" } ?? "?"
    return "month \(period) of \(periods) to \(end), commitment \(renews)"
  }

  private static func string(_ value: JSONValue?) -> String? {
    if case .string(let text)? = value { return text }
    return nil
  }

  private static func number(_ value: JSONValue?) -> Int64? {
    if case .integer(let number)? = value { return number }
    return nil
  }

  private static func flag(_ value: JSONValue?) -> Bool? {
    if case .boolean(let flag)? = value { return flag }
    return nil
  }
}
