/// What a value is in JSON.
public protocol JSONConvertible: SendableMetatype {
  var json: JSONValue { get }
  /// Whether a value of this type may be `null`.
  static var isNullable: Bool { get }
}

extension JSONConvertible {
  public static var isNullable: Bool { false }
}

extension JSONValue: JSONConvertible {
  public var json: JSONValue { self }
}

extension String: JSONConvertible {
  public var json: JSONValue { .string(self) }
}

extension Int64: JSONConvertible {
  public var json: JSONValue { .integer(self) }
}

extension Int: JSONConvertible {
  public var json: JSONValue { .integer(Int64(self)) }
}

extension Bool: JSONConvertible {
  public var json: JSONValue { .boolean(self) }
}

extension Array: JSONConvertible where Element: JSONConvertible {
  public var json: JSONValue { .array(map(\.json)) }
}

extension Optional: JSONConvertible where Wrapped: JSONConvertible {
  public var json: JSONValue { self?.json ?? .null }
  public static var isNullable: Bool { true }
}

/// A member of an object of the public contract: its name, its schema and its value.
public struct JSONMember<Subject>: Sendable {
  public let name: String
  public let schema: JSONSchema
  /// Whether it may be absent.
  let isOptional: Bool
  /// Nil: absent.
  let value: @Sendable (Subject) -> JSONValue?

  private init(
    _ name: String, _ schema: JSONSchema, isOptional: Bool,
    _ value: @escaping @Sendable (Subject) -> JSONValue?
  ) {
    (self.name, self.schema) = (name, schema)
    (self.isOptional, self.value) = (isOptional, value)
  }

  /// One that is always there. Its schema allows `null` if its value is an optional.
  public init<Value: JSONConvertible>(
    _ name: String, _ schema: JSONSchema, _ value: @escaping @Sendable (Subject) -> Value
  ) {
    self.init(
      name, Value.isNullable ? .optional(schema) : schema, isOptional: false
    ) { value($0).json }
  }

  /// One that is absent where its value is nil.
  public static func ifAny<Value: JSONConvertible>(
    _ name: String, _ schema: JSONSchema, _ value: @escaping @Sendable (Subject) -> Value?
  ) -> Self {
    Self(
      name, Value.isNullable ? .optional(schema) : schema, isOptional: true
    ) { value($0)?.json }
  }

  /// One whose value is another object, or null.
  public init<Part>(
    _ name: String, _ object: JSONObject<Part>, _ value: @escaping @Sendable (Subject) -> Part?
  ) {
    self.init(name, .optional(object.schema), isOptional: false) { subject in
      value(subject).map(object.json) ?? .null
    }
  }

  /// One whose value is a list of objects.
  public init<Part>(
    _ name: String, listOf object: JSONObject<Part>,
    _ values: @escaping @Sendable (Subject) -> [Part]
  ) {
    self.init(name, .list(object.schema), isOptional: false) { subject in
      .array(values(subject).map(object.json))
    }
  }

  /// The members of every list that comes in pages.
  ///
  /// - Parameter next: the parameter `after` of the next page; nil at the end.
  public static func page(
    of item: JSONSchema, _ items: @escaping @Sendable (Subject) -> [JSONValue],
    next: @escaping @Sendable (Subject) -> String?
  ) -> [Self] {
    [
      .type("list"), Self("items", .list(item), items),
      Self("next_page", .text("The value of `after` for the next page; null at the end."), next),
    ]
  }

  /// The same member of an object that has the subject as a part.
  public func of<Whole>(
    _ part: @escaping @Sendable (Whole) -> Subject
  ) -> JSONMember<Whole> {
    JSONMember<Whole>(name, schema, isOptional: isOptional) { value(part($0)) }
  }

  /// The member `object`, which names the type.
  public static func type(_ name: String) -> Self {
    Self("object", .oneOf([name], "The type of this object.")) { _ in name }
  }
}

/// An object of the public contract, declared once: how it is written and its schema follow from
/// its members.
public struct JSONObject<Subject>: Sendable {
  /// In the order in which they are written.
  public let members: [JSONMember<Subject>]
  private let name: String?

  /// - Parameter name: of its schema in the OpenAPI document.
  public init(_ name: String, _ members: [JSONMember<Subject>]) {
    (self.name, self.members) = (name, members)
  }

  /// One whose schema stands where it is used.
  public init(_ members: [JSONMember<Subject>]) { (name, self.members) = (nil, members) }

  /// A reference, if the document has the schema by name.
  public var schema: JSONSchema { name.map { .named($0) } ?? definition }

  public var definition: JSONSchema {
    .object(
      members.map { ($0.name, $0.schema) },
      required: members.filter { !$0.isOptional }.map(\.name))
  }

  @Sendable public func json(_ subject: Subject) -> JSONValue { .object(members(of: subject)) }

  /// The members that the object of a subject has.
  public func members(of subject: Subject) -> [(String, JSONValue)] {
    members.compactMap { member in member.value(subject).map { (member.name, $0) } }
  }
}
