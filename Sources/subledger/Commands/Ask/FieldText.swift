import StrictJSON

/// The value of a row's field as text: objects as their members, times as dates.
enum FieldText {
  static func of(_ field: String, _ value: JSONValue) -> String {
    guard case .object(let members) = value else { return QueryOptions.plain(field, value) }
    if case .integer(let price)? = value["milliunits"] {
      guard case .string(let currency)? = value["currency"] else {
        return MoneyText.amount(price, nil)
      }
      return MoneyText.amount(price, currency)
    }
    let parts = members.compactMap { name, value -> String? in
      if case .null = value { return nil }
      return "\(name) \(QueryOptions.plain(name, value))"
    }
    return parts.isEmpty ? "–" : parts.joined(separator: ", ")
  }
}
