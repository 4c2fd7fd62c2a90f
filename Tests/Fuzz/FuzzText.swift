import API
import AppStore
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON

/// JSON, base64, queries, cursors and times: reading returns exactly what was written.
extension FuzzTarget {
  static let json = FuzzTarget("json") { input in
    guard let root = try? JSONDocument(parsing: input).root else { return nil }
    let written = root.value.bytes
    guard let again = try? JSONDocument(parsing: written).root else {
      return "written JSON cannot be parsed"
    }
    guard again.value.bytes == written else { return "writing twice gives different texts" }
    let pretty = Array(root.value.prettyText.utf8)
    guard (try? JSONDocument(parsing: pretty).root.value.bytes) == written else {
      return "the indented form parses to other JSON"
    }
    return memberFault(root, depth: 0)
  }

  private static func memberFault(_ element: JSONElement, depth: Int) -> String? {
    guard depth <= 32 else { return "too deep" }
    var names: Set<[UInt8]> = []
    for (name, value) in element.members {
      guard names.insert(Array(name.utf8)).inserted else { return "a duplicate member" }
      guard element[name]?.value.bytes == value.value.bytes else {
        return "a name finds another member"
      }
      if let fault = memberFault(value, depth: depth + 1) { return fault }
    }
    for value in element.elements {
      if let fault = memberFault(value, depth: depth + 1) { return fault }
    }
    if let number = element.integer {
      let text = String(number)
      let isSame = element.text.elementsEqual(text.utf8)
      guard isSame || element.text.elementsEqual("-0".utf8) else { return "a number is another" }
    }
    if let plain = element.plainBytes, let string = element.string {
      guard plain.elementsEqual(string.utf8) else { return "plain bytes are another text" }
    }
    return nil
  }

  static let base64 = FuzzTarget("base64") { input in
    guard Base64URL.decode(Base64URL.encode(input)) == input else {
      return "encoding does not round-trip"
    }
    if let bytes = Base64URL.decode(input[...]) {
      guard Base64URL.encode(bytes) == input else { return "two texts of the same bytes" }
    }
    let standard = Base64.encode(input)
    guard Base64.decode(String(decoding: standard, as: UTF8.self)) == input else {
      return "standard encoding does not round-trip"
    }
    guard let text = String(validating: input, as: UTF8.self), let bytes = Base64.decode(text)
    else { return nil }
    return Base64.encode(bytes) == input ? nil : "two standard texts of the same bytes"
  }

  static let query = FuzzTarget("query") { input in
    let names = ["limit", "after", "as_of", "product_id"]
    guard let text = String(validating: input, as: UTF8.self),
      let query = QueryString(text, allowed: Set(names))
    else { return nil }
    var pairs: [String] = []
    for name in names {
      guard let value = query[name] else { continue }
      guard !value.isEmpty, value.utf8.allSatisfy({ $0 >= 0x20 }) else { return "an odd value" }
      pairs.append(
        name + "="
          + value.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())
    }
    guard !pairs.isEmpty else { return nil }
    let again = QueryString(pairs.joined(separator: "&"), allowed: Set(names))
    for name in names where again?[name] != query[name] {
      return "\(name) does not round-trip"
    }
    return nil
  }

  /// Invented cursors, and times.
  static let cursor = FuzzTarget("cursor") { input in
    guard let text = String(validating: input, as: UTF8.self) else { return nil }
    let token = Configuration.ReadToken(name: "fuzz", sha256: SHA256.hash(Array("fuzz".utf8)))
    if let key = PageCursor.key(text, for: token) {
      guard PageCursor.text(key, for: token) == text.lowercased() else {
        return "an invented cursor is accepted"
      }
    }
    // RFC 3339 has years of four digits.
    let writable = Int64(-62_167_219_200_000)...253_402_300_799_999
    if let time = Timestamp.parse(text), writable.contains(time) {
      guard Timestamp.parse(Timestamp.text(time)) == time else { return "a time is another" }
    }
    // A cursor made from arbitrary text is accepted again, for the same token only.
    let parts = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].contains("\u{1F}"), !parts[1].contains("\u{1F}") else {
      return nil
    }
    let key = StreamKey(
      environment: Environment(rawValue: String(parts[0])), bundleId: String(parts[1]),
      originalTransactionId: String(parts[2]))
    let given = PageCursor.text(key, for: token)
    guard given.utf8.count <= 4096 else { return nil }
    guard PageCursor.key(given, for: token) == key else { return "a cursor is lost" }
    let other = Configuration.ReadToken(name: "b", sha256: SHA256.hash(Array("other".utf8)))
    return PageCursor.key(given, for: other) == nil ? nil : "a cursor is accepted for another token"
  }
}
