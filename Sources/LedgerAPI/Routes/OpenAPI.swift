import StrictJSON

/// The OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.0), written from the table of routes.
enum OpenAPI {
  /// - Parameter version: of this program.
  static func document(version: String) -> JSONValue {
    .object([
      ("openapi", .string("3.1.0")),
      (
        "info",
        .object([
          ("title", .string("Subledger")), ("version", .string(version)),
          (
            "description",
            .string(
              "App Store subscriptions, proven and journaled: entitlements, and why they are so.")
          ),
        ])
      ), ("paths", .object(paths)),
      (
        "components",
        .object([
          ("schemas", .object(Schemas.named.map { ($0.0, $0.1.json) })),
          ("securitySchemes", .object([("readToken", scheme)])),
        ])
      ),
    ])
  }

  private static let scheme = JSONValue.object([
    ("type", .string("http")), ("scheme", .string("bearer")),
    ("description", .string("One of the configuration's readTokens.")),
  ])

  /// In the table's order; what is asked over the unix socket, and the console's pages, are not in.
  private static var paths: [(String, JSONValue)] {
    let shown = Route.table.filter { route in
      if case .local = route.access { return false }
      return route.name != .page
    }
    return shown.map { route in
      (route.path, .object([(route.method.lowercased(), operation(route))]))
    }
  }

  private static func operation(_ route: Route) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("operationId", .string("\(route.name)")), ("summary", .string(route.summary)),
    ]
    if !route.parameters.isEmpty {
      members.append(("parameters", .array(route.parameters.map(parameter))))
    }
    if let body = route.body {
      let content = JSONValue.object([("schema", body.json)])
      members.append(
        (
          "requestBody",
          .object([
            ("required", .boolean(true)),
            ("content", .object([("application/json", content)])),
          ])
        ))
    }
    members.append(("responses", .object(route.replies.map(reply) + [transport])))
    if case .token = route.access {
      members.append(("security", .array([.object([("readToken", .array([]))])])))
    }
    return .object(members)
  }

  private static func reply(_ reply: Route.Reply) -> (String, JSONValue) {
    let (type, schema) =
      switch reply.content {
      case .json(let schema): ("application/json", schema)
      case .text(let type): (type, Schema.text(""))
      case .problem: ("application/problem+json", Schema.named("Problem"))
      }
    return (
      String(reply.status),
      .object([
        ("description", .string(reply.meaning)),
        ("content", .object([(type, .object([("schema", schema.json)]))])),
      ])
    )
  }

  /// What is no HTTP, too long or too slow is answered before any route is asked.
  private static let transport = (
    "default",
    reply(.init(status: 0, meaning: "Refused by the transport.", content: .problem)).1
  )

  private static func parameter(_ parameter: Parameter) -> JSONValue {
    .object([
      ("name", .string(parameter.name)),
      ("in", .string(parameter.isInPath ? "path" : "query")),
      ("required", .boolean(parameter.isInPath)), ("description", .string(parameter.meaning)),
      ("schema", .object(schema(parameter.kind))),
    ])
  }

  private static func schema(_ kind: Parameter.Kind) -> [(String, JSONValue)] {
    func text(_ more: [(String, JSONValue)]) -> [(String, JSONValue)] {
      [("type", .string("string"))] + more
    }
    // No control characters; nothing that is empty.
    let visible = ("pattern", JSONValue.string("^[^\\u0000-\\u001f]+$"))
    return switch kind {
    case .identifier: text([("pattern", .string("^[0-9A-Za-z_-]{1,128}$"))])
    case .text, .cursor: text([visible])
    case .environment: text([("enum", .array(Parameter.environments.map(JSONValue.string)))])
    case .status: text([("enum", .array(Parameter.statuses.map(JSONValue.string)))])
    case .time:
      [
        (
          "anyOf",
          .array([
            .object(text([("format", .string("date-time"))])),
            .object([("type", .string("integer")), ("format", .string("int64"))]),
          ])
        ), ("examples", .array([.string("2026-01-01T00:00:00Z")])),
      ]
    case .boolean: [("type", .string("boolean"))]
    case .integer(let range, let usual):
      [
        ("type", .string("integer")), ("minimum", .integer(range.lowerBound)),
        ("maximum", .integer(range.upperBound)), ("default", .integer(usual)),
      ]
    }
  }
}
