import AppStore
import Encoding

/// The query of a request, parsed strictly: known names, each at most once, percent-decoded
/// (RFC 3986), with valid values.
package struct QueryString {
  private let values: [String: String]

  /// Returns nil if a name is unknown or occurs twice, or if a value cannot be decoded or is not
  /// valid for its parameter.
  init?(_ query: String?, of route: Route) {
    self.init(query, allowed: route.queryNames)
    for parameter in route.parameters where !parameter.isInPath {
      if let value = values[parameter.name], !parameter.accepts(value) { return nil }
    }
  }

  /// Returns nil if a name is not allowed or occurs twice, or if a value cannot be decoded.
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

  /// The decoded value; nil if the parameter is absent.
  package subscript(_ name: String) -> String? { values[name] }

  /// The environment that is asked for; nil if the parameter is absent.
  var environment: Environment? { values["environment"].map(Environment.init(rawValue:)) }

  /// A time in milliseconds since 1970; nil if the parameter is absent.
  func time(_ name: String) -> Int64? { values[name].flatMap(Timestamp.parse) }

  func isTrue(_ name: String) -> Bool { values[name] == "true" }

  /// An integer, or the default in the table of routes if the parameter is absent.
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
        // The parser of heads lets no control character pass; neither does this.
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
