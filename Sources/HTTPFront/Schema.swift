import StrictJSON

/// The shape of a JSON value, as far as JSON Schema (draft 2020-12, which OpenAPI 3.1 takes) shall
/// tell it.
indirect enum Schema: Sendable {
  case integer(String)
  case text(String)
  case boolean(String)
  /// One of these strings.
  case oneOf([String], String)
  case optional(Schema)
  case list(Schema)
  /// Exactly these members, all of them there but the optional ones.
  case object([(String, Schema)], optional: [(String, Schema)] = [])
  /// These members where they are there, and others.
  case open([(String, Schema)], required: [String], String)
  /// Members of any name, all of this shape.
  case map(Schema, String)
  /// One of several objects.
  case either([Schema])
  /// A named schema of the document.
  case named(String)
  /// Whatever Apple says.
  case anything(String)

  static func time(_ meaning: String) -> Schema {
    .integer(meaning + " Milliseconds since 1970, UTC.")
  }

  var json: JSONValue { .object(members) }

  private var members: [(String, JSONValue)] {
    switch self {
    case .integer(let meaning): Self.plain("integer", meaning) + [("format", .string("int64"))]
    case .text(let meaning): Self.plain("string", meaning)
    case .boolean(let meaning): Self.plain("boolean", meaning)
    case .oneOf(let values, let meaning):
      Self.plain("string", meaning) + [("enum", .array(values.map(JSONValue.string)))]
    case .optional(let schema): schema.orNull
    case .list(let schema): [("type", .string("array")), ("items", schema.json)]
    case .object(let members, let optional):
      [
        ("type", .string("object")), ("properties", Self.properties(members + optional)),
        ("required", .array(members.map { .string($0.0) })),
        ("additionalProperties", .boolean(false)),
      ]
    case .open(let members, let required, let meaning):
      Self.plain("object", meaning) + [
        ("properties", Self.properties(members)),
        ("required", .array(required.map(JSONValue.string))),
      ]
    case .map(let schema, let meaning):
      Self.plain("object", meaning) + [("additionalProperties", schema.json)]
    case .either(let schemas): [("oneOf", .array(schemas.map(\.json)))]
    case .named(let name): [("$ref", .string("#/components/schemas/\(name)"))]
    case .anything(let meaning): [("description", .string(meaning))]
    }
  }

  private static func plain(_ type: String, _ meaning: String) -> [(String, JSONValue)] {
    [("type", .string(type))] + (meaning.isEmpty ? [] : [("description", .string(meaning))])
  }

  private static func properties(_ members: [(String, Schema)]) -> JSONValue {
    .object(members.map { ($0.0, $0.1.json) })
  }

  /// `type` becomes a list with `null` in it; what has none becomes one of two.
  private var orNull: [(String, JSONValue)] {
    var members = members
    guard let place = members.firstIndex(where: { $0.0 == "type" }) else {
      return [("oneOf", .array([json, .object([("type", .string("null"))])]))]
    }
    members[place].1 = .array([members[place].1, .string("null")])
    if let values = members.firstIndex(where: { $0.0 == "enum" }),
      case .array(let list) = members[values].1
    {
      members[values].1 = .array(list + [.null])
    }
    return members
  }
}
