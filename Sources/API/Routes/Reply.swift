import HTTPServer
import StrictJSON

/// A documented response. Refusals by the transport are not listed: every route can return them.
struct Reply: Sendable {
  let status: Int
  let meaning: String
  let content: Content

  enum Content: Sendable {
    case json(JSONSchema)
    case text(String)
    /// With an example, where its status does not say enough.
    case problem(HTTPResponse?)
    case nothing
  }

  init(_ status: Int, _ meaning: String, _ content: Content = .problem(nil)) {
    (self.status, self.meaning, self.content) = (status, meaning, content)
  }

  /// - Parameter schema: its name.
  static func answer(_ meaning: String, _ schema: String) -> Reply {
    Reply(200, meaning, .json(.named(schema)))
  }

  static let refused = Reply(400, "The request is malformed.")
  static let unauthorized = Reply(401, "The read token is missing or unknown.")
  static let notAllowed = Reply(403, "The token may not do this.")
  static let absent = absent(Problem.noSuchEntitlement)
  static let unavailable = Reply(
    503, "The service is temporarily unavailable; Retry-After says when to try again.")
  static let notModified = Reply(
    304, "The answer is that of the ETag in If-None-Match, but for `as_of`; no body.", .nothing)

  static func absent(_ example: HTTPResponse) -> Reply {
    Reply(
      404, "The resource does not exist, or the token may not read it.", .problem(example))
  }
}

extension [Reply] {
  /// What most routes reply.
  ///
  /// - Parameter more: with a status between 403 and 503.
  static func usual(_ meaning: String, _ schema: String, _ more: Reply...) -> [Reply] {
    [.answer(meaning, schema), .refused, .unauthorized, .notAllowed] + more + [.unavailable]
  }
}
