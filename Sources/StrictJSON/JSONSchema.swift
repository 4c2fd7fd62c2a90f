/// A JSON Schema (draft 2020-12, which OpenAPI 3.1 uses), limited to what the document needs.
public struct JSONSchema: Sendable {
  private let members: [(String, JSONValue)]

  private init(_ members: [(String, JSONValue)]) { self.members = members }

  public var json: JSONValue { .object(members) }

  public static func integer(_ meaning: String = "") -> JSONSchema {
    plain("integer", meaning).with("format", .string("int64"))
  }

  public static func time(_ meaning: String = "") -> JSONSchema {
    let unit = "Milliseconds since 1970, UTC."
    return integer(meaning.isEmpty ? unit : meaning + " " + unit)
  }

  public static func text(_ meaning: String = "") -> JSONSchema { plain("string", meaning) }

  public static func text(_ meaning: String, pattern: String) -> JSONSchema {
    plain("string", meaning).with("pattern", .string(pattern))
  }

  public static func text(pattern: String, example: String) -> JSONSchema {
    text("", pattern: pattern).with("examples", .array([.string(example)]))
  }

  public static let uuid = plain("string", "").with("format", .string("uuid"))
    .with("examples", .array([.string("0d9a3f0e-7c1b-4f52-9d7e-2f1c0a5b6e4d")]))

  /// RFC 3339, or milliseconds since 1970.
  public static let moment = JSONSchema([
    (
      "anyOf",
      .array([
        plain("string", "").with("format", .string("date-time")).json, integer("").json,
      ])
    ), ("examples", .array([.string("2026-01-01T00:00:00Z")])),
  ])

  public static func integer(in range: ClosedRange<Int64>, default usual: Int64) -> JSONSchema {
    plain("integer", "").with("minimum", .integer(range.lowerBound))
      .with("maximum", .integer(range.upperBound)).with("default", .integer(usual))
  }

  public static func boolean(_ meaning: String = "") -> JSONSchema { plain("boolean", meaning) }

  /// One of these strings.
  public static func oneOf(_ values: [String], _ meaning: String = "") -> JSONSchema {
    plain("string", meaning).with("enum", .array(values.map(JSONValue.string)))
  }

  public static func list(_ item: JSONSchema) -> JSONSchema {
    JSONSchema([("type", .string("array")), ("items", item.json)])
  }

  public static func list(_ item: JSONSchema, count: ClosedRange<Int64>) -> JSONSchema {
    list(item).with("minItems", .integer(count.lowerBound))
      .with("maxItems", .integer(count.upperBound))
  }

  /// An object with these members; those that are not in `required` may be absent. A later version
  /// may add members, so the schema forbids none.
  public static func object(_ members: [(String, JSONSchema)], required: [String]) -> JSONSchema {
    JSONSchema([
      ("type", .string("object")), ("properties", properties(members)),
      ("required", .array(required.map(JSONValue.string))),
    ])
  }

  /// An object with these members, of which `required` must be present, and any others.
  public static func open(
    _ members: [(String, JSONSchema)], required: [String], _ meaning: String
  ) -> JSONSchema {
    plain("object", meaning).with("properties", properties(members))
      .with("required", .array(required.map(JSONValue.string)))
      .with("additionalProperties", .boolean(true))
  }

  /// An object with members of any name, all of this schema.
  public static func map(_ item: JSONSchema, _ meaning: String) -> JSONSchema {
    plain("object", meaning).with("additionalProperties", item.json)
  }

  /// One of several objects.
  public static func either(_ schemas: [JSONSchema]) -> JSONSchema {
    JSONSchema([("oneOf", .array(schemas.map(\.json)))])
  }

  /// What fits one of several schemas at least.
  public static func any(of schemas: [JSONSchema]) -> JSONSchema {
    JSONSchema([("anyOf", .array(schemas.map(\.json)))])
  }

  public static let null = plain("null", "")

  /// A reference to a named schema of the document.
  public static func named(_ name: String) -> JSONSchema {
    JSONSchema([("$ref", .string("#/components/schemas/\(name)"))])
  }

  /// Any value, for what Apple may change.
  public static func anything(_ meaning: String = "") -> JSONSchema {
    JSONSchema([("description", .string(meaning))])
  }

  /// The schema or null: `null` is added to `type`; a schema without `type` becomes an alternative
  /// of two.
  public static func optional(_ schema: JSONSchema) -> JSONSchema {
    var members = schema.members
    guard let index = members.firstIndex(where: { $0.0 == "type" }) else {
      return JSONSchema([("oneOf", .array([schema.json, .object([("type", .string("null"))])]))])
    }
    members[index].1 = .array([members[index].1, .string("null")])
    if let values = members.firstIndex(where: { $0.0 == "enum" }),
      case .array(let list) = members[values].1
    {
      members[values].1 = .array(list + [.null])
    }
    return JSONSchema(members)
  }

  /// The same with a description, unless the meaning is empty.
  public func described(_ meaning: String) -> JSONSchema {
    guard !meaning.isEmpty else { return self }
    var described = members
    described.insert(("description", .string(meaning)), at: min(1, members.count))
    return JSONSchema(described)
  }

  private static func plain(_ type: String, _ meaning: String) -> JSONSchema {
    JSONSchema(
      [("type", .string(type))] + (meaning.isEmpty ? [] : [("description", .string(meaning))]))
  }

  private func with(_ name: String, _ value: JSONValue) -> JSONSchema {
    JSONSchema(members + [(name, value)])
  }

  private static func properties(_ members: [(String, JSONSchema)]) -> JSONValue {
    .object(members.map { ($0.0, $0.1.json) })
  }
}
