import API

/// The HTTP interface, written from the table of routes and the table of refusals.
enum HTTPTopic {
  static var document: Document { Document(blocks: introduction + routes + refusals) }

  private static let introduction: [Document.Block] = [
    .heading("HTTP interface"),
    .paragraph(
      "The daemon accepts HTTP/1.1 on the address in the configuration's `listen`. TLS is left to "
        + "a reverse proxy. /openapi.json of a running daemon describes the same routes for "
        + "generators of clients."),
    .paragraph(
      "Routes marked \"token\" need a token of the configuration that may read; POST "
        + "/v1/transactions and /v1/receipts need one that may submit. The other routes are open "
        + "and reveal no data about customers."),
    .code("curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8080/v1/overview"),
    .paragraph(
      "POST /v1/notifications answers 200 only after the event is in the journal, synced to the "
        + "disk: {\"outcome\":\"accepted\",\"seq\":7}. The outcome is duplicate if the journal "
        + "already has an event with the uuid."),
    .paragraph(
      "POST /v1/transactions answers with the customer's entitlement: "
        + "{\"outcome\":\"accepted\",\"entitlement\":{…}}. POST /v1/receipts answers with the "
        + "entitlements of the customers it is about, 100 at most: "
        + "{\"outcome\":\"accepted\",\"entitlements\":[{…}],\"more\":false}."),
    .paragraph(
      "Times in parameters are RFC 3339 (2026-01-31T10:00:00Z) or milliseconds since 1970 UTC. "
        + "Times in answers are milliseconds since 1970 UTC. A parameter that is unknown, given "
        + "twice or has an impossible value is refused with 400."),
  ]

  private static var routes: [Document.Block] {
    [Document.Block.heading("Routes")]
      + RouteDescription.all.map { route -> Document.Block in
        let access = route.needsToken ? "  (token)" : ""
        return .entry(
          .init(
            term: "\(route.method) \(route.path)\(access)", text: route.summary,
            details: route.parameters.map { entry($0) } + route.bodies.flatMap(members)))
      }
  }

  private static func entry(
    _ parameter: RouteDescription.Parameter, isRequired: Bool = false
  ) -> Document.Entry {
    let values = parameter.values.map { " \($0)." } ?? ""
    return .init(
      term: parameter.name,
      text: (isRequired ? "Required. " : "") + parameter.meaning + values)
  }

  /// A body and its members.
  private static func members(_ body: RouteDescription.Body) -> [Document.Entry] {
    [Document.Entry(term: "JSON body", text: body.meaning)]
      + body.members.enumerated().map { index, member in
        entry(member, isRequired: index < body.required)
      }
  }

  private static var refusals: [Document.Block] {
    [
      Document.Block.heading("Refusals"),
      .paragraph(
        "A refusal is application/problem+json with the members type, title, status, detail, code "
          + "and retryable. detail says what is meant below, and what the body seems to be "
          + "instead. 4xx is for requests that will never become valid. 503 carries Retry-After: "
          + "the same request can succeed later."),
      .paragraph(RefusalEntry.repetition),
      .paragraph(
        "A code that begins with \(RefusalEntry.nestedPrefix) and is not below is of a JWS inside "
          + "a notification: what follows the prefix is its code."),
    ]
      + RefusalEntry.documented.map { refusal -> Document.Block in
        let retryable = refusal.isRetryable ? "  (retryable)" : ""
        let repeats = refusal.repeats.map { " \($0)" } ?? ""
        return .entry(
          .init(
            term: "\(refusal.status) \(refusal.code)\(retryable)",
            text: refusal.detail + repeats))
      }
  }
}
