import Configuration

/// One route: a row of the table from which routing, `Allow`, the check of parameters and the
/// OpenAPI document are derived, so that they cannot contradict each other.
final class Route: Sendable {
  /// Which code answers the route. The name of a public route is its operationId.
  enum Name: Sendable, Hashable {
    case notifications, transactions
    case entitlements, entitlement, history
    case customer, customers
    case overview, quarantine, comparison
    case healthz, readyz, metrics, version, openAPI
    case page
    case controlIngest
    case controlProjection(ProjectionOrder)
    case controlAdmit, controlDrop
  }

  /// What a command asks the daemon to do with the projections of its folder.
  enum ProjectionOrder: String, CaseIterable { case adopt, rollback, refold, prune }

  /// Who may use a route.
  enum Access: Sendable {
    case anyone
    /// A client with a token that may do this, because the route returns data.
    case token(Configuration.Permission)
    /// A process on this machine that can open the unix socket in the data folder.
    case local
  }

  /// A documented response. Refusals by the transport are not listed: every route can return them.
  struct Reply: Sendable {
    let status: Int
    let meaning: String
    let content: Content

    enum Content: Sendable {
      case json(Schema)
      case text(String)
      case problem
    }
  }

  let name: Name
  /// `{name}` stands for one path segment, an identifier; a path has at most one.
  let path: String
  let method: String
  let access: Access
  /// One sentence, for documentation.
  let summary: String
  let parameters: [Parameter]
  /// The body of a POST; nil if the route reads none.
  let body: Schema?
  let replies: [Reply]
  /// The names of the query parameters.
  let queryNames: Set<String>
  /// The path before and after its identifier; nil if it has none.
  let template: (prefix: Substring, suffix: Substring)?

  init(
    _ name: Name, _ method: String, _ path: String, _ access: Access, _ summary: String,
    _ parameters: [Parameter] = [], body: Schema? = nil, _ replies: [Reply] = []
  ) {
    self.name = name
    self.method = method
    self.path = path
    self.access = access
    self.summary = summary
    self.parameters = parameters
    self.body = body
    self.replies = replies
    queryNames = Set(parameters.filter { !$0.isInPath }.map(\.name))
    let parts = path.split(omittingEmptySubsequences: false) { $0 == "{" || $0 == "}" }
    template = parts.count == 3 ? (parts[0], parts[2]) : nil
  }

  /// Whether it takes what Apple signed, which is proven and journaled.
  var isIngest: Bool { name == .notifications || name == .transactions }

  /// The accepted methods: HEAD is accepted where GET is (RFC 9110 section 9.3.2).
  var methods: [String] { method == "GET" ? ["GET", "HEAD"] : [method] }
}
