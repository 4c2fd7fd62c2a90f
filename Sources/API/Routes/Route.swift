import Ledger
import StrictJSON

/// One route: a row of the table from which routing, `Allow`, the check of parameters and the
/// OpenAPI document are derived, so that they cannot contradict each other.
final class Route: Sendable {
  /// Which code answers the route. The name of a public route is its operationId.
  enum Name: Sendable, Hashable {
    case notifications, transactions, receipts
    case entitlements, entitlement, purchases, history, search, order
    case customer, customers
    case claim, release, erase
    case grants, grant, revoke
    case overview, quarantine, comparison, sinks, events
    case healthz, readyz, metrics, version, openAPI
    case page
    case controlIngest, controlProjection
    case controlAdmit, controlDrop
    case controlStatement, controlErase, controlSink, controlEvents
    case controlRefusals, controlRecovered
  }

  /// Who may use a route.
  enum Access: Sendable {
    case anyone
    /// A client with a token that may do one of these, because the route returns data.
    case tokens([Configuration.Permission])
    /// A process on this machine that can open the unix socket in the data folder.
    case local

    static func token(_ permissions: Configuration.Permission...) -> Access {
      .tokens(permissions)
    }
  }

  /// A documented response. Refusals by the transport are not listed: every route can return them.
  struct Reply: Sendable {
    let status: Int
    let meaning: String
    let content: Content

    enum Content: Sendable {
      case json(JSONSchema)
      case text(String)
      case problem
    }
  }

  let name: Name
  /// `{name}` stands for one path segment.
  let path: String
  let method: String
  /// The accepted methods: HEAD is accepted where GET is (RFC 9110 section 9.3.2).
  let methods: [String]
  let access: Access
  /// One sentence, for documentation.
  let summary: String
  let parameters: [Parameter]
  /// The bodies that it takes, one of them a request; empty if the route reads none.
  let bodies: [RequestBody]
  let replies: [Reply]
  let pathParameters: [Parameter]
  let queryParameters: [Parameter]
  /// What names it in the log.
  var title: String { "\(method) \(path)" }

  init(
    _ name: Name, _ method: String, _ path: String, _ access: Access, _ summary: String,
    _ parameters: [Parameter] = [], bodies: [RequestBody] = [], _ replies: [Reply] = []
  ) {
    self.name = name
    self.method = method
    self.path = path
    self.access = access
    self.summary = summary
    self.parameters = parameters
    self.bodies = bodies
    self.replies = replies
    pathParameters = parameters.filter(\.isInPath)
    queryParameters = parameters.filter { !$0.isInPath }
    methods = method == "GET" ? ["GET", "HEAD"] : [method]
  }

  /// Whether it journals something, or erases it.
  var isIngest: Bool {
    switch name {
    case .notifications, .transactions, .receipts, .claim, .release, .erase, .grant, .revoke: true
    default: false
    }
  }

  /// Whether its answers have an ETag, and If-None-Match is obeyed.
  var isConditional: Bool { name == .entitlement || name == .customer }
}
