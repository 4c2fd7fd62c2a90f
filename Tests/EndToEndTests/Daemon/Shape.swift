import StrictJSON
import Support

/// Holds answers to the schemas of the OpenAPI document, as strictly as they are written: exactly
/// the members that are named, each of its type. Knows what the document uses of JSON Schema.
struct Shape {
  private let schemas: JSONElement

  init(document: JSONElement) throws {
    guard let schemas = document["components"]?["schemas"] else {
      throw Trouble("the document has no schemas")
    }
    self.schemas = schemas
  }

  /// What does not fit, each with its place; none: it fits.
  func objections(_ value: JSONElement, to schema: JSONElement, at place: String = "") -> [String] {
    if let name = schema["$ref"]?.string?.split(separator: "/").last {
      guard let named = schemas[String(name)] else { return ["\(place): no schema \(name)"] }
      return objections(value, to: named, at: place)
    }
    if let choices = schema["oneOf"]?.elements {
      let tries = choices.map { objections(value, to: $0, at: place) }
      let fitting = tries.count { $0.isEmpty }
      return fitting == 1 ? [] : ["\(place): fits \(fitting) of \(choices.count)"] + tries.joined()
    }
    if let types = types(schema), !types.contains(Self.type(value)) {
      return ["\(place): is \(Self.type(value)), not \(types)"]
    }
    if value.kind == .null { return [] }
    if let values = schema["enum"]?.elements, !values.contains(where: { $0.text == value.text }) {
      return ["\(place): is none of the words"]
    }
    if value.kind == .array, let items = schema["items"] {
      return value.elements.enumerated().flatMap {
        objections($1, to: items, at: "\(place)[\($0)]")
      }
    }
    return value.kind == .object ? members(value, schema, place) : []
  }

  private func members(
    _ value: JSONElement, _ schema: JSONElement, _ place: String
  ) -> [String] {
    let names = Set(value.members.map(\.name))
    let required = Set((schema["required"]?.elements ?? []).compactMap(\.string))
    var found = required.subtracting(names).map { "\(place).\($0): is missing" }
    for (name, member) in value.members {
      if let known = schema["properties"]?[name] {
        found += objections(member, to: known, at: "\(place).\(name)")
      } else if let others = schema["additionalProperties"] {
        if others.boolean == false {
          found.append("\(place).\(name): is not in the schema")
        } else {
          found += objections(member, to: others, at: "\(place).\(name)")
        }
      }
    }
    return found
  }

  private func types(_ schema: JSONElement) -> [String]? {
    schema["type"].map { $0.string.map { [$0] } ?? $0.elements.compactMap(\.string) }
  }

  private static func type(_ value: JSONElement) -> String {
    switch value.kind {
    case .null: "null"
    case .boolean: "boolean"
    case .number: value.integer == nil ? "number" : "integer"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }
}
