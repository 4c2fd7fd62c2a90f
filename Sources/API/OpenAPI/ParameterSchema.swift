import AppStore
import Store
import StrictJSON

/// The JSON Schema of a parameter's values: in the document, and in refusals of other values.
extension Parameter {
  var schema: JSONSchema {
    switch kind {
    case .identifier: .text("", pattern: "^[0-9A-Za-z_-]{1,128}$")
    case .name: .text("", pattern: "^[^\\u0000-\\u001f]{1,128}$")
    // Not empty, and without control characters.
    case .text, .cursor: .text("", pattern: "^[^\\u0000-\\u001f]+$")
    case .texts: .text("", pattern: "^[^,\\u0000-\\u001f]+(,[^,\\u0000-\\u001f]+)*$")
    case .list(let item, let count): .list(Parameter("", item, "").schema, count: count)
    case .prose, .signed: .text("")
    case .object: .open([], required: [], "")
    case .uuid: .uuid
    case .environment: .oneOf(Self.environments, "")
    case .choice(let words): .oneOf(words, "")
    case .place:
      .text(pattern: "^(0|[0-9]+-[0-9A-Fa-f]{8}|received:.+)$", example: "received:2026-01-01")
    case .words(let words):
      .text(
        pattern: "^(\(words.joined(separator: "|")))(,(\(words.joined(separator: "|"))))*$",
        example: words.joined(separator: ","))
    case .report(.month): .text(pattern: "^[0-9]{4}-[0-9]{2}$", example: "2026-08")
    case .report(.day): .text(pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", example: "2026-08-31")
    case .report(.customer): Parameter("", .text, "").schema
    case .time: .moment
    case .boolean: .boolean("")
    case .integer(let range, let usual): .integer(in: range, default: usual)
    }
  }
}
