import Encoding
import LedgerEngine

/// The query of a request, strictly: known names, each once, percent-encoding decoded (RFC 3986),
/// and only values that can be.
package struct QueryString {
  private let values: [String: String]

  /// Nil where a name is unknown or occurs twice, something is not decodable, or a value cannot be.
  init?(_ query: String?, of route: Route) {
    self.init(query, allowed: route.queryNames)
    for parameter in route.parameters where !parameter.isInPath {
      if let value = values[parameter.name], !parameter.accepts(value) { return nil }
    }
  }

  /// As above, whatever the values are.
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

  /// Milliseconds since 1970; nil where it is not given.
  func time(_ name: String) -> Int64? { values[name].flatMap(Timestamp.parse) }

  func isTrue(_ name: String) -> Bool { values[name] == "true" }

  /// The number, or what the route's row of the table says instead.
  func integer(_ name: String, of route: Route) -> Int64 {
    for parameter in route.parameters where parameter.name == name {
      if case .integer(_, let usual) = parameter.kind {
        return values[name].flatMap { Int64($0) } ?? usual
      }
    }
    return 0
  }

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
