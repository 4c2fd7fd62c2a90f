/// The query of a request, strictly: known names, each once, percent-encoding decoded (RFC 3986).
package struct QueryString {
  private let values: [String: String]

  /// Nil where a name is unknown or occurs twice, or something is not decodable.
  package init?(_ query: String?, allowed: Set<String>) {
    var values: [String: String] = [:]
    for pair in (query ?? "").split(separator: "&", omittingEmptySubsequences: true) {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, let value = Self.decode(parts[1]), !value.isEmpty else { return nil }
      let name = String(parts[0])
      guard allowed.contains(name), values.updateValue(value, forKey: name) == nil else {
        return nil
      }
    }
    self.values = values
  }

  package subscript(_ name: String) -> String? { values[name] }

  private static func decode(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        // No head brings one; nor may anything else.
        guard byte >= 0x20 else { return nil }
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst(), let low = rest.popFirst(),
        let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16), value >= 0x20
      else { return nil }
      bytes.append(value)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
