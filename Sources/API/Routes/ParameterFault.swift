import StrictJSON

/// What is wrong with a parameter of a request: of its query, or a member of its body.
///
/// It names parameters of the table of routes alone, because an answer never repeats bytes of the
/// request: an unknown one is told by its position.
struct ParameterFault: Error, Sendable {
  enum Reason: String, Sendable, CaseIterable {
    /// The route has no parameter of this name.
    case unknown
    case repeated
    /// The value cannot be decoded, or is not what is expected.
    case invalid
    case missing
  }

  let reason: Reason
  /// Nil if it is unknown.
  let parameter: String?
  /// Which values are valid, as a JSON Schema, or which names; nil if any value is.
  let expected: JSONSchema?
  /// Which parameter of the query it is, counted from 1; nil for a member of a body.
  private(set) var position: Int?

  init(_ reason: Reason, _ parameter: String?, expected: JSONSchema? = nil) {
    self.reason = reason
    self.parameter = parameter
    self.expected = expected
  }

  init(_ reason: Reason, _ parameter: Parameter) {
    self.init(reason, parameter.name, expected: parameter.schema)
  }

  func at(_ position: Int) -> ParameterFault {
    var fault = self
    fault.position = position
    return fault
  }

  /// A cursor that was cut, altered or made for another token.
  static let after = ParameterFault(.invalid, .after)
}
