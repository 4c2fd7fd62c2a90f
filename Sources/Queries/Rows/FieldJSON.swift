import AppStore
import Entitlements
import Store
import StrictJSON

/// Fields as members of an answer's JSON.
extension Field.Member {
  func json(of subject: Subject) -> JSONValue { json { $0.json(of: subject) } }

  /// Of a row of a view: null where it has no such column.
  func json(of row: ProjectionComparison.Row) -> JSONValue {
    json { field in
      let value = row[field.column] ?? .null
      if case .flag = field.kind, case .integer(let number) = value { return .boolean(number == 1) }
      return value
    }
  }

  private func json(_ value: (Field) -> JSONValue) -> JSONValue {
    guard isObject else { return value(fields[0].field) }
    if case .null = value(fields[0].field) { return .null }
    return .object(fields.map { ($0.name, value($0.field)) })
  }

  var schema: JSONSchema {
    guard isObject else { return fields[0].field.schema }
    return .optional(
      .object(fields.map { ($0.name, $0.field.schema) }, required: fields.map(\.name)))
  }
}

extension Field {
  func json(of subject: Subject) -> JSONValue {
    switch value(subject) {
    case .none: kind.isList ? .array([]) : .null
    case .text(let text): .string(text)
    case .integer(let number): .integer(number)
    case .flag(let flag): .boolean(flag)
    case .uuid(let uuid): .string(uuid.description)
    case .texts(let texts): .array(texts.map(JSONValue.string))
    case .refunds(let refunds): .array(refunds.map(\.json))
    }
  }

  fileprivate var schema: JSONSchema {
    let schema: JSONSchema =
      switch kind {
      case .text, .uuid: .text(meaning)
      case .integer: .integer(meaning)
      case .flag: .boolean(meaning)
      case .time: .time(meaning)
      case .oneOf(let values): .oneOf(values, meaning)
      case .texts: .list(.text(meaning))
      case .refunds: .list(Refund.object.schema)
      }
    return isOptional && !kind.isList ? .optional(schema) : schema
  }
}

extension FieldKind {
  /// Empty instead of null.
  fileprivate var isList: Bool {
    switch self {
    case .texts, .refunds: true
    default: false
    }
  }
}
