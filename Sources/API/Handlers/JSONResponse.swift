import HTTPServer
import StrictJSON

extension HTTPResponse {
  /// A response with a JSON object as its body.
  static func json(_ members: [(String, JSONValue)], status: Int = 200) -> HTTPResponse {
    json(.object(members), status: status)
  }

  /// A page of a list.
  ///
  /// - Parameter next: the parameter `after` of the next page; nil at the end.
  static func json<Item>(
    _ items: [JSONValue], next: String?, of item: JSONObject<Item>
  ) -> HTTPResponse {
    json(Answers.list(of: item).json(Answers.Page(items: items, next: next)))
  }

  /// A response with a JSON value as its body, and a line end for terminals.
  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [(name: "Content-Type", value: "application/json")],
      body: value.bytes + [0x0A])
  }
}
