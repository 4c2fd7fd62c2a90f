import StrictJSON
import Support

/// Compares answers with the schemas of the OpenAPI document: exactly the members that are named,
/// each of its type. Implements the part of JSON Schema that the document uses.
struct Shape {
  private let schemas: JSONElement

  init(document: JSONElement) throws {
    guard let schemas = document["components"]?["schemas"] else {
      throw TestFailure("the document has no schemas")
    }
    self.schemas = schemas
  }

  /// The mismatches, each with its path in the value; empty if the value matches.
  func objections(_ value: JSONElement, to schema: JSONElement, at path: String = "") -> [String] {
    if let name = schema["$ref"]?.string?.split(separator: "/").last {
      guard let named = schemas[String(name)] else { return ["\(path): no schema \(name)"] }
      return objections(value, to: named, at: path)
    }
    if let choices = schema["oneOf"]?.elements {
      let attempts = choices.map { objections(value, to: $0, at: path) }
      let fitting = attempts.count { $0.isEmpty }
      return fitting == 1
        ? [] : ["\(path): fits \(fitting) of \(choices.count)"] + attempts.joined()
    }
    if let choices = schema["anyOf"]?.elements {
      let attempts = choices.map { objections(value, to: $0, at: path) }
      return attempts.contains(where: \.isEmpty) ? [] : Array(attempts.joined())
    }
    if let types = types(schema), !types.contains(Self.type(value)) {
      return ["\(path): is \(Self.type(value)), not \(types)"]
    }
    if value.kind == .null { return [] }
    if let values = schema["enum"]?.elements, !values.contains(where: { $0.text == value.text }) {
      return ["\(path): is none of the enum values"]
    }
    if value.kind == .array, let items = schema["items"] {
      return value.elements.enumerated().flatMap {
        objections($1, to: items, at: "\(path)[\($0)]")
      }
    }
    return value.kind == .object ? members(value, schema, path) : []
  }

  private func members(
    _ value: JSONElement, _ schema: JSONElement, _ path: String
  ) -> [String] {
    let names = Set(value.members.map(\.name))
    let required = Set((schema["required"]?.elements ?? []).compactMap(\.string))
    var found = required.subtracting(names).map { "\(path).\($0): is missing" }
    for (name, member) in value.members {
      if let known = schema["properties"]?[name] {
        found += objections(member, to: known, at: "\(path).\(name)")
      } else if schema["properties"]?.members.isEmpty == false,
        schema["additionalProperties"] == nil
      {
        // Valid by the schema, because a later version may add members; this one must name its own.
        found.append("\(path).\(name): is not in the schema")
      } else if let others = schema["additionalProperties"] {
        if others.boolean == false {
          found.append("\(path).\(name): is not in the schema")
        } else {
          found += objections(member, to: others, at: "\(path).\(name)")
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
