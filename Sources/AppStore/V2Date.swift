public import StrictJSON

extension JSONElement {
  /// A date of version 2, milliseconds since 1970: a number, whose fraction is dropped, or a text
  /// of digits, which some senders of notifications make of it. Nil for anything else.
  public var date: Int64? {
    if kind == .number { return truncatedInteger }
    guard let text = string, text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
    else { return nil }
    return Int64(text)
  }

  /// A text that is not empty; nil for anything else.
  var filledText: String? { string.flatMap { $0.isEmpty ? nil : $0 } }
}
