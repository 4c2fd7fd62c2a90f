import HTTPServer
import Ledger
import Store
import StrictJSON

/// An example for each answer of the document.
///
/// Answers are made from their schemas, so that they have the members and types that these name,
/// and problems are those that the daemon sends.
enum Examples {
  static func answer(_ schema: JSONSchema) -> JSONValue { value(schema.json, of: "") }

  /// A problem of a status, as a route sends it.
  static func problem(_ status: Int, of route: Route) -> HTTPResponse {
    switch status {
    case 400 where route.isIngest: Problem.response(.malformed("json"), to: .notification)
    case 400 where !route.bodies.isEmpty: Problem.response(toBody: ParameterFault(.missing, "ids"))
    case 400: Problem.response(ParameterFault(.invalid, .environment).at(1))
    case 401 where route.isIngest: Problem.response(.untrusted("signature"), to: .notification)
    case 401: Problem.unauthorized()
    case 403: Problem.notAllowed
    case 410: Problem.otherHistory
    case 422:
      Problem.response(
        .notAdmitted("other_app"), to: .notification, .quarantined("other_app", isNew: true))
    default: Problem.response(.unavailable("overload"))
    }
  }

  static func document(_ response: HTTPResponse) -> JSONValue {
    (try? JSONDocument(parsing: response.body).root.value) ?? .null
  }

  /// - Parameter name: the member that has the value.
  private static func value(_ schema: JSONValue, of name: String) -> JSONValue {
    if case .string(let reference)? = schema["$ref"] {
      let named = Schemas.named.first { reference.hasSuffix("/\($0.0)") }
      return named.map { value($0.1.json, of: name) } ?? .null
    }
    if case .array(let choices)? = schema["oneOf"] ?? schema["anyOf"], let first = choices.first {
      return value(first, of: name)
    }
    if case .array(let words)? = schema["enum"] ?? schema["examples"], let first = words.first {
      return first
    }
    switch type(schema) {
    case "object": return object(schema, of: name)
    case "array": return .array(schema["items"].map { [value($0, of: name)] } ?? [])
    case "boolean": return .boolean(!unusual.contains(name))
    case "integer": return .integer(number(name))
    case "string": return texts[name].map(JSONValue.string) ?? .string(name)
    default: return .null
    }
  }

  private static func object(_ schema: JSONValue, of name: String) -> JSONValue {
    if case .object? = schema["additionalProperties"], let item = schema["additionalProperties"] {
      let key = name == "entitlements" ? "pro" : "status"
      return .object([(key, value(item, of: key))])
    }
    guard case .array(let required)? = schema["required"], let properties = schema["properties"]
    else { return .object([]) }
    return .object(
      required.compactMap { member in
        guard case .string(let member) = member, let schema = properties[member] else { return nil }
        let isNull = absent.contains(member) && mayBeNull(schema)
        return (member, isNull ? .null : value(schema, of: member))
      })
  }

  private static func mayBeNull(_ schema: JSONValue) -> Bool {
    if case .string? = schema["type"] { false } else { true }
  }

  /// The type of a schema; of several the first, where `null` is the second.
  private static func type(_ schema: JSONValue) -> String? {
    switch schema["type"] {
    case .string(let type)?: type
    case .array(let types)?: types.first.flatMap(string)
    default: nil
    }
  }

  private static func string(_ value: JSONValue) -> String? {
    if case .string(let text) = value { text } else { nil }
  }

  private static func number(_ name: String) -> Int64 {
    switch name {
    case "expires_at", "period_ends_at", "at": 1_769_904_000_000
    case "milliunits": 9990
    case _ where name.hasSuffix("_at") || name.hasSuffix("_date") || name == "as_of":
      1_767_225_600_000
    default: 1
    }
  }

  /// Null in an ordinary answer.
  private static let absent: Set = [
    "grace_period_expires_at", "revoked_at", "pending_product_id", "commitment", "succeeded_by",
    "price_increase", "known_at", "next_page", "late_by", "redeliveries", "subtype",
  ]
  /// False in an ordinary answer.
  private static let unusual: Set = [
    "gap", "late", "anomaly", "more_purchases", "more_quarantined",
  ]

  private static let texts = [
    "bundle_id": "com.example.app", "original_transaction_id": "2000000000000001",
    "transaction_id": "2000000000000009", "product_id": "pro.monthly",
    "product_type": "Auto-Renewable Subscription", "ownership": "PURCHASED",
    "app_account_token": "0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d",
    "app_transaction_id": "704289572311513293", "subscription_group_id": "21400001",
    "id": "0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d", "notification_type": "DID_RENEW",
    "notification_uuid": "9a1c3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d", "currency": "USD",
    "discount_type": "FREE_TRIAL", "period": "P1M", "identifier": "spring", "source": "v2",
    "words": "renewed", "openapi": "3.1.0", "arrival": "posted", "environment": "Production",
  ]
}
