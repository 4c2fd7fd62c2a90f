import StrictJSON

/// A JSON Schema (draft 2020-12, which OpenAPI 3.1 uses), limited to what the document needs.
struct Schema: Sendable {
  private let members: [(String, JSONValue)]

  private init(_ members: [(String, JSONValue)]) { self.members = members }

  var json: JSONValue { .object(members) }

  static func integer(_ meaning: String) -> Schema {
    plain("integer", meaning).with("format", .string("int64"))
  }

  static func time(_ meaning: String) -> Schema {
    let unit = "Milliseconds since 1970, UTC."
    return integer(meaning.isEmpty ? unit : meaning + " " + unit)
  }

  static func text(_ meaning: String) -> Schema { plain("string", meaning) }

  static func text(_ meaning: String, pattern: String) -> Schema {
    plain("string", meaning).with("pattern", .string(pattern))
  }

  static func text(pattern: String, example: String) -> Schema {
    text("", pattern: pattern).with("examples", .array([.string(example)]))
  }

  static let uuid = plain("string", "").with("format", .string("uuid"))
    .with("examples", .array([.string("0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d")]))

  /// RFC 3339, or milliseconds since 1970.
  static let moment = Schema([
    (
      "anyOf",
      .array([
        plain("string", "").with("format", .string("date-time")).json, integer("").json,
      ])
    ), ("examples", .array([.string("2026-01-01T00:00:00Z")])),
  ])

  static func integer(in range: ClosedRange<Int64>, default usual: Int64) -> Schema {
    plain("integer", "").with("minimum", .integer(range.lowerBound))
      .with("maximum", .integer(range.upperBound)).with("default", .integer(usual))
  }

  static func boolean(_ meaning: String) -> Schema { plain("boolean", meaning) }

  /// One of these strings.
  static func oneOf(_ values: [String], _ meaning: String = "") -> Schema {
    plain("string", meaning).with("enum", .array(values.map(JSONValue.string)))
  }

  static func list(_ item: Schema) -> Schema {
    Schema([("type", .string("array")), ("items", item.json)])
  }

  static func list(_ item: Schema, count: ClosedRange<Int64>) -> Schema {
    list(item).with("minItems", .integer(count.lowerBound))
      .with("maxItems", .integer(count.upperBound))
  }

  /// An object with these members; those in `optional` may be absent. A later version may add
  /// members, so the schema forbids none.
  static func object(
    _ members: [(String, Schema)], optional: [(String, Schema)] = []
  ) -> Schema {
    Schema([
      ("type", .string("object")), ("properties", properties(members + optional)),
      ("required", .array(members.map { .string($0.0) })),
    ])
  }

  /// An object with these members, of which `required` must be present, and any others.
  static func open(
    _ members: [(String, Schema)], required: [String], _ meaning: String
  ) -> Schema {
    plain("object", meaning).with("properties", properties(members))
      .with("required", .array(required.map(JSONValue.string)))
      .with("additionalProperties", .boolean(true))
  }

  /// An object with members of any name, all of this schema.
  static func map(_ item: Schema, _ meaning: String) -> Schema {
    plain("object", meaning).with("additionalProperties", item.json)
  }

  /// One of several objects.
  static func either(_ schemas: [Schema]) -> Schema {
    Schema([("oneOf", .array(schemas.map(\.json)))])
  }

  /// A reference to a named schema of the document.
  static func named(_ name: String) -> Schema {
    Schema([("$ref", .string("#/components/schemas/\(name)"))])
  }

  /// Any value, for what Apple may change.
  static func anything(_ meaning: String) -> Schema {
    Schema([("description", .string(meaning))])
  }

  /// The schema or null: `null` is added to `type`; a schema without `type` becomes an alternative
  /// of two.
  static func optional(_ schema: Schema) -> Schema {
    var members = schema.members
    guard let index = members.firstIndex(where: { $0.0 == "type" }) else {
      return Schema([("oneOf", .array([schema.json, .object([("type", .string("null"))])]))])
    }
    members[index].1 = .array([members[index].1, .string("null")])
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
