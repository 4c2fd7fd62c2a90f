import Delivery
import StrictJSON

/// The OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.0), generated from the table of routes.
enum OpenAPI {
  /// - Parameter version: the version of this program.
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
              "App Store subscriptions from signed notifications: entitlements and their history.")
          ),
        ])
      ),
      (
        "servers",
        .array([
          .object([
            ("url", .string("/")),
            ("description", .string("The daemon that answers with this document.")),
          ])
        ])
      ),
      (
        "tags",
        .array(
          Route.Tag.allCases.map { tag in
            .object([
              ("name", .string(tag.rawValue)), ("description", .string(tag.meaning)),
            ])
          })
      ), ("paths", .object(paths)), ("webhooks", webhooks),
      (
        "components",
        .object([
          ("schemas", .object(Schemas.named.map { ($0.0, $0.1.json) })),
          ("securitySchemes", .object([("readToken", scheme)])),
          ("pathItems", .object([("Message", webhook)])),
        ])
      ), ("x-refusals", .array(RefusalEntry.documented.map(\.json))),
    ])
  }

  private static let scheme = JSONValue.object([
    ("type", .string("http")), ("scheme", .string("bearer")),
    ("description", .string("A token whose SHA-256 is in `readTokens` of the configuration.")),
  ])

  /// In the order of the table.
  private static var paths: [(String, JSONValue)] {
    var paths: [(String, [(String, JSONValue)])] = []
    for route in Route.documented {
      let member = (route.method.lowercased(), operation(route))
      if let index = paths.firstIndex(where: { $0.0 == route.path }) {
        paths[index].1.append(member)
      } else {
        paths.append((route.path, [member]))
      }
    }
    return paths.map { ($0.0, .object($0.1)) }
  }

  /// One for any message, and one for each type: all have the same form.
  private static let webhooks = JSONValue.object(
    [("message", webhook)]
      + MessageType.all.map { type, meaning in
        let members = ["$ref": "#/components/pathItems/Message", "description": meaning]
        return (type, .object(members.sorted { $0.key < $1.key }.map { ($0, .string($1)) }))
      })

  /// What the daemon sends to sinks of kind webhook.
  private static let webhook = JSONValue.object([
    (
      "post",
      .object([
        ("operationId", .string("receiveMessage")),
        ("summary", .string("A message of a sink, at least once; in order for each customer.")),
        (
          "parameters",
          .array(
            Message.headers.map { name, meaning in
              .object([
                ("name", .string(name)), ("in", .string("header")),
                ("required", .boolean(false)), ("description", .string(meaning)),
                ("schema", JSONSchema.text().json),
              ])
            })
        ), ("requestBody", body(Message.object.schema)),
        (
          "responses",
          .object([
            ("2XX", described("It is taken.")),
            ("410", described("Nothing more is sent, until `subledger sink resume`.")),
            ("default", described("It is sent again later.")),
          ])
        ),
      ])
    )
  ])

  private static func described(_ meaning: String) -> JSONValue {
    .object([("description", .string(meaning))])
  }

  private static func body(_ schema: JSONSchema) -> JSONValue {
    .object([
      ("required", .boolean(true)),
      ("content", .object([("application/json", .object([("schema", schema.json)]))])),
    ])
  }

  private static func operation(_ route: Route) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("operationId", .optional(route.operationId)), ("summary", .string(route.summary)),
      ("tags", .array([.string(route.tag.rawValue)])),
    ]
    if !route.parameters.isEmpty {
      members.append(("parameters", .array(route.parameters.map(parameter))))
    }
    let bodies = route.bodies.map { JSONSchema.named($0.name) }
    if let only = bodies.first {
      members.append(("requestBody", body(bodies.count == 1 ? only : .either(bodies))))
    }
    members.append(
      ("responses", .object(route.replies.map { reply($0, of: route) } + [transport])))
    if case .tokens = route.access {
      members.append(("security", .array([.object([("readToken", .array([]))])])))
    }
    return .object(members)
  }

  private static func reply(_ reply: Reply, of route: Route) -> (String, JSONValue) {
    let (type, schema, example): (String, JSONSchema, JSONValue)
    switch reply.content {
    case .json(let answer):
      (type, schema, example) = ("application/json", answer, Examples.answer(answer))
    case .text(let text):
      (type, schema, example) = (text, .text(""), .string("subledger_journal_seq 42\n"))
    case .problem(let problem):
      (type, schema) = ("application/problem+json", .named("Problem"))
      example = Examples.document(problem ?? Examples.problem(reply.status, of: route))
    case .nothing: return (String(reply.status), described(reply.meaning))
    }
    return (
      String(reply.status),
      .object([
        ("description", .string(reply.meaning)),
        (
          "content",
          .object([(type, .object([("schema", schema.json), ("example", example)]))])
        ),
      ])
    )
  }

  /// Requests that are not HTTP, too large or too slow are refused before a route is matched.
  private static let transport = (
    "default",
    JSONValue.object([
      (
        "description",
        .string("The request was refused before its route was known, or under overload.")
      ),
      (
        "content",
        .object([
          (
            "application/problem+json",
            .object([
              ("schema", JSONSchema.named("Problem").json),
              ("example", Examples.document(Problem.transport(431))),
            ])
          )
        ])
      ),
    ])
  )

  private static func parameter(_ parameter: Parameter) -> JSONValue {
    .object([
      ("name", .string(parameter.name)),
      ("in", .string(parameter.isInPath ? "path" : "query")),
      ("required", .boolean(parameter.isRequired)), ("description", .string(parameter.meaning)),
      ("schema", parameter.schema.json),
    ])
  }
}
