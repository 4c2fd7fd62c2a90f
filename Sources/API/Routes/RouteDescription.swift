import Store

/// One route of the public contract, for documentation that is not OpenAPI.
package struct RouteDescription: Sendable {
  package struct Parameter: Sendable {
    package let name: String
    package let meaning: String
    /// What the value can be; nil if the meaning says it.
    package let values: String?
  }

  package struct Body: Sendable {
    package let meaning: String
    package let members: [Parameter]
    /// How many of the members must be present, from the first.
    package let required: Int
  }

  package let method: String
  package let path: String
  package let summary: String
  package let needsToken: Bool
  package let parameters: [Parameter]
  /// One of these is sent; empty if the route reads no body.
  package let bodies: [Body]

  /// Every route of the contract, in the order of the OpenAPI document.
  package static let all = Route.documented.map(RouteDescription.init)

  private init(_ route: Route) {
    (method, path, summary) = (route.method, route.path, route.summary)
    needsToken = if case .tokens = route.access { true } else { false }
    parameters = route.parameters.map(Self.describe)
    bodies = route.bodies.map { body in
      Body(
        meaning: body.meaning, members: body.members.map(Self.describe), required: body.required)
    }
  }

  private static func describe(_ parameter: API.Parameter) -> Parameter {
    Parameter(name: parameter.name, meaning: parameter.meaning, values: values(parameter.kind))
  }

  private static func values(_ kind: API.Parameter.Kind) -> String? {
    switch kind {
    case .identifier, .name, .text, .texts, .time, .cursor, .place, .prose, .signed, .object, .list:
      nil
    case .report(let parameter):
      parameter.form.prefix(1).uppercased() + parameter.form.dropFirst()
    case .words(let words): "Some of " + words.joined(separator: ", ")
    case .uuid: "A UUID"
    case .choice(let words): "One of " + words.joined(separator: ", ")
    case .environment: API.Parameter.environments.joined(separator: " or ")
    case .boolean: "Either true or false"
    case .integer(let range, let usual):
      "From \(range.lowerBound) to \(range.upperBound), \(usual) if absent"
    }
  }
}
