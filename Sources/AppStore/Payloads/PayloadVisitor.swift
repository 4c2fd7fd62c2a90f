/// A payload of Apple's, or an object in one, that declares its members once.
public protocol Payload {
  /// One without members.
  init()
  /// Visits every member: the only list of what is read of the payload.
  mutating func visit<Visitor: PayloadVisitor>(_ visitor: inout Visitor) throws(Visitor.Failure)
}

/// Receives every member of a payload, by its name and by reference: reads, encodes or compares it.
///
/// Every method throws what its visitor throws: one that only looks at values throws nothing.
public protocol PayloadVisitor {
  associatedtype Failure: Error

  mutating func text(_ member: PayloadMember, _ value: inout String?) throws(Failure)
  mutating func number(_ member: PayloadMember, _ value: inout Int64?) throws(Failure)
  mutating func flag(_ member: PayloadMember, _ value: inout Bool?) throws(Failure)
  /// An object inside the payload; nil where it lacks a member that every one has.
  mutating func object<Object: Payload>(_ name: String, _ value: inout Object?) throws(Failure)
  /// A list of objects, and one of texts: empty where it is absent or of another kind.
  mutating func objects<Object: Payload>(_ name: String, _ value: inout [Object]) throws(Failure)
  mutating func texts(_ name: String, _ value: inout [String]) throws(Failure)
}

/// A payload that is signed on its own.
public protocol SignedPayload: Payload {
  /// Milliseconds since 1970.
  var signedDate: Int64 { get set }
}

extension SignedPayload {
  /// Whether both say the same, whenever they were signed.
  public func saysTheSame(as other: Self) -> Bool { values.areSame(as: other.values) }

  private var values: PayloadValues {
    var (payload, values) = (self, PayloadValues())
    payload.signedDate = 0
    payload.visit(&values)
    return values
  }
}

/// What is known of a member before its value.
@frozen public struct PayloadMember {
  /// The forms in which a member is written.
  @frozen public enum Form {
    case any
    /// A text; an empty one counts as absent.
    case filled
    /// As `filled`; a NUL is a fault, because stores and logs may cut a text there.
    case identifier
    /// A number; a text of digits counts too.
    case date
    /// A date; a value that is none counts as the earliest.
    case end
  }

  public let name: String
  public let form: Form
  /// The name of the object that it is a member of; nil: of the payload itself.
  public let object: String?
  /// Whether every usable payload has it: then it has a value before it is visited.
  public let isRequired: Bool
  /// A number that is mostly near it, from which an encoding counts.
  public let base: Int64

  @inlinable init(
    _ name: String, _ form: Form = .any, in object: String? = nil, isRequired: Bool = false,
    from base: Int64 = 0
  ) {
    (self.name, self.form, self.object) = (name, form, object)
    (self.isRequired, self.base) = (isRequired, base)
  }
}

extension PayloadVisitor {
  @inlinable mutating func text(
    _ name: String, _ value: inout String?, as form: PayloadMember.Form = .any
  ) throws(Failure) {
    try text(PayloadMember(name, form), &value)
  }

  @inlinable mutating func text(_ name: String, _ value: inout String) throws(Failure) {
    var found: String? = value
    try text(PayloadMember(name, .identifier, isRequired: true), &found)
    if let found { value = found }
  }

  @inlinable mutating func number(
    _ name: String, _ value: inout Int64?, in object: String? = nil
  ) throws(Failure) {
    try number(PayloadMember(name, in: object), &value)
  }

  @inlinable mutating func date(
    _ name: String, _ value: inout Int64?, from base: Int64, as form: PayloadMember.Form = .date
  ) throws(Failure) {
    try number(PayloadMember(name, form, from: base), &value)
  }

  @inlinable mutating func number(
    _ name: String, _ value: inout Int64, as form: PayloadMember.Form = .any, from base: Int64 = 0
  ) throws(Failure) {
    var found: Int64? = value
    try number(PayloadMember(name, form, isRequired: true, from: base), &found)
    if let found { value = found }
  }

  @inlinable mutating func flag(_ name: String, _ value: inout Bool?) throws(Failure) {
    try flag(PayloadMember(name), &value)
  }

  /// False where it is absent.
  @inlinable mutating func flag(_ name: String, _ value: inout Bool) throws(Failure) {
    var found: Bool? = value
    try flag(PayloadMember(name, isRequired: true), &found)
    value = found ?? false
  }
}
