import AppStore
import Platform
import StrictJSON

/// The query of a request, parsed strictly: known names, each at most once, percent-decoded
/// (RFC 3986), with valid values.
package struct QueryString {
  private let values: [String: String]

  /// - Throws: `ParameterFault` if a name is unknown, occurs twice or is missing, or if a value
  ///   cannot be decoded or is not valid for its parameter.
  init(_ query: String?, of route: Route) throws(ParameterFault) {
    let parameters = route.queryParameters
    values = try Self.values(query) { name, value in
      guard let parameter = parameters.first(where: { $0.name == name }) else {
        return ParameterFault(.unknown, nil, expected: .oneOf(parameters.map(\.name)))
      }
      return value.map(parameter.accepts) ?? false ? nil : ParameterFault(.invalid, parameter)
    }
    for parameter in parameters where parameter.isRequired && values[parameter.name] == nil {
      throw ParameterFault(.missing, parameter)
    }
  }

  /// Returns nil if a name is not allowed or occurs twice, or if a value cannot be decoded.
  package init?(_ query: String?, allowed: Set<String>) {
    let values = try? Self.values(query) { name, value in
      allowed.contains(name) && value != nil ? nil : ParameterFault(.invalid, name)
    }
    guard let values else { return nil }
    self.values = values
  }

  /// The decoded values by name.
  ///
  /// - Parameter fault: what is wrong with a parameter; its value is nil if it cannot be decoded.
  private static func values(
    _ query: String?, _ fault: (_ name: String, _ value: String?) -> ParameterFault?
  ) throws(ParameterFault) -> [String: String] {
    var values: [String: String] = [:]
    // By bytes, since to split a text into characters takes longer than the rest of this.
    let pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&"))
    for (index, pair) in pairs.enumerated() {
      let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      let name = String(decoding: pair[..<end], as: UTF8.self)
      let value = decode(pair[end...].dropFirst()).flatMap { $0.isEmpty ? nil : $0 }
      var found = fault(name, value)
      if found == nil, values.updateValue(value ?? "", forKey: name) != nil {
        found = ParameterFault(.repeated, name)
      }
      if let found { throw found.at(index + 1) }
    }
    return values
  }

  /// The decoded value; nil if the parameter is absent.
  package subscript(_ name: String) -> String? { values[name] }

  /// The environment that is asked for; nil if the parameter is absent.
  var environment: Environment? { values["environment"].map(Environment.init(rawValue:)) }

  /// A time in milliseconds since 1970; nil if the parameter is absent.
  func time(_ name: String) -> Int64? { values[name].flatMap(Timestamp.parse) }

  /// The words of a value that are separated by commas; none if the parameter is absent.
  func list(_ name: String) -> [String] {
    (values[name] ?? "").split(separator: ",").map(String.init)
  }

  func isTrue(_ name: String) -> Bool { values[name] == "true" }

  /// The parameter `after` of a list that is continued after a position; 0 if it is absent.
  ///
  /// - Throws: `ParameterFault` unless it is a positive integer.
  func position() throws(ParameterFault) -> Int64 {
    guard let text = values["after"] else { return 0 }
    guard let position = Int64(text), position > 0 else { throw .after }
    return position
  }

  /// An integer, or the default of the route if the parameter is absent.
  func integer(_ name: String, of route: Route) -> Int64 {
    for parameter in route.parameters where parameter.name == name {
      if case .integer(_, let usual) = parameter.kind {
        return values[name].flatMap { Int64($0) } ?? usual
      }
    }
    return 0
  }

  /// Percent-decodes; nil for what is no UTF-8 or has a control character.
  ///
  /// - Parameter text: a part of a text in UTF-8.
  static func decode(_ text: some Collection<UInt8>) -> String? {
    // The parser of heads lets no control character pass; neither does this.
    guard text.allSatisfy({ $0 >= 0x20 }) else { return nil }
    guard text.contains(UInt8(ascii: "%")) else { return String(decoding: text, as: UTF8.self) }
    var bytes: [UInt8] = []
    var rest = text[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
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
