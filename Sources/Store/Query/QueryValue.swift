import Platform
public import StrictJSON

/// One value of a query's result, with SQLite's five types (sqlite.org/datatype3.html).
public enum QueryValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

extension QueryValue {
  /// The value as text, blobs as hexadecimal digits; nil for null.
  public var text: String? {
    switch self {
    case .null: nil
    case .integer(let number): String(number)
    case .real(let number): Self.number(number)
    case .text(let text): text
    case .blob(let bytes): Hexadecimal.encode(bytes)
    }
  }

  /// The shortest digits that mean the same number.
  private static func number(_ number: Double) -> String {
    number.isInfinite ? (number < 0 ? "-Inf" : "Inf") : String(number)
  }

  public var json: JSONValue {
    switch self {
    case .null: .null
    case .integer(let number): .integer(number)
    // JSON has no infinity.
    case .real(let number): number.isFinite ? .number(String(number)) : .null
    case .text, .blob: .optional(text)
    }
  }
}
