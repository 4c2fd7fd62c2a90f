import StrictJSON

/// The shape of a JSON value, as far as JSON Schema (draft 2020-12, which OpenAPI 3.1 takes) shall
/// tell it.
struct Schema: Sendable {
  private let members: [(String, JSONValue)]

  private init(_ members: [(String, JSONValue)]) { self.members = members }

  var json: JSONValue { .object(members) }

  static func integer(_ meaning: String) -> Schema {
    plain("integer", meaning).with("format", .string("int64"))
  }

  static func time(_ meaning: String) -> Schema {
    integer(meaning + " Milliseconds since 1970, UTC.")
  }

  static func text(_ meaning: String) -> Schema { plain("string", meaning) }

  static func boolean(_ meaning: String) -> Schema { plain("boolean", meaning) }

  /// One of these strings.
  static func oneOf(_ values: [String], _ meaning: String) -> Schema {
    plain("string", meaning).with("enum", .array(values.map(JSONValue.string)))
  }

  static func list(_ item: Schema) -> Schema {
    Schema([("type", .string("array")), ("items", item.json)])
  }

  /// Exactly these members, all of them there but the optional ones.
  static func object(
    _ members: [(String, Schema)], optional: [(String, Schema)] = []
  ) -> Schema {
    Schema([
      ("type", .string("object")), ("properties", properties(members + optional)),
      ("required", .array(members.map { .string($0.0) })),
      ("additionalProperties", .boolean(false)),
    ])
  }

  /// These members where they are there, and others.
  static func open(
    _ members: [(String, Schema)], required: [String], _ meaning: String
  ) -> Schema {
    plain("object", meaning).with("properties", properties(members))
      .with("required", .array(required.map(JSONValue.string)))
  }

  /// Members of any name, all of this shape.
  static func map(_ item: Schema, _ meaning: String) -> Schema {
    plain("object", meaning).with("additionalProperties", item.json)
  }

  /// One of several objects.
  static func either(_ schemas: [Schema]) -> Schema {
    Schema([("oneOf", .array(schemas.map(\.json)))])
  }

  /// A named schema of the document.
  static func named(_ name: String) -> Schema {
    Schema([("$ref", .string("#/components/schemas/\(name)"))])
  }

  /// Whatever Apple says.
  static func anything(_ meaning: String) -> Schema {
    Schema([("description", .string(meaning))])
  }

  /// Or null: `type` becomes a list with `null` in it; what has none becomes one of two.
  static func optional(_ schema: Schema) -> Schema {
    var members = schema.members
    guard let place = members.firstIndex(where: { $0.0 == "type" }) else {
      return Schema([("oneOf", .array([schema.json, .object([("type", .string("null"))])]))])
    }
    members[place].1 = .array([members[place].1, .string("null")])
    if let values = members.firstIndex(where: { $0.0 == "enum" }),
      case .array(let list) = members[values].1
    {
      members[values].1 = .array(list + [.null])
    }
    return Schema(members)
  }

  private static func plain(_ type: String, _ meaning: String) -> Schema {
    Schema([("type", .string(type))] + (meaning.isEmpty ? [] : [("description", .string(meaning))]))
  }

  private func with(_ name: String, _ value: JSONValue) -> Schema {
    Schema(members + [(name, value)])
  }

  private static func properties(_ members: [(String, Schema)]) -> JSONValue {
    .object(members.map { ($0.0, $0.1.json) })
  }
}
