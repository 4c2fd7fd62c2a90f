/// One thing that can be asked for: a row of the table from which routing, `Allow`, the check of
/// parameters and the OpenAPI document come, so that none of them can say what another does not.
final class Route: Sendable {
  enum Name: Sendable, Hashable {
    case notifications
    case entitlements, entitlement, history
    case overview, quarantine, comparison
    case healthz, readyz, metrics, version, openAPI
    case page
    case controlIngest
    case controlProjection(ProjectionOrder)
    case controlAdmit, controlDrop
  }

  /// What to do with the projections of the folder.
  enum ProjectionOrder: String, CaseIterable { case adopt, rollback, refold, prune }

  /// Who may ask.
  enum Access: Sendable {
    case everybody
    /// It shows data, and so needs a read token.
    case token
    /// A process on this machine that may open the unix socket in the data folder.
    case local
  }

  /// An answer that is given on purpose; those of the transport are every route's.
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
  /// `{name}` stands for one segment, an identifier; there is one at most.
  let path: String
  let method: String
  let access: Access
  let summary: String
  let parameters: [Parameter]
  /// What the body of a POST is; nil where none is read.
  let body: Schema?
  let replies: [Reply]
  /// The names of a query.
  let queryNames: Set<String>
  /// The path around its identifier; nil where it has none.
  fileprivate let around: (before: Substring, after: Substring)?

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
    around = parts.count == 3 ? (parts[0], parts[2]) : nil
  }

  /// HEAD goes with GET (RFC 9110 section 9.3.2).
  var methods: [String] { method == "GET" ? ["GET", "HEAD"] : [method] }

  /// The identifier in a path of this form; nil in any other.
  fileprivate func identifier(in path: String) -> String? {
    guard let around else { return nil }
    let (before, after) = (around.before.utf8, around.after.utf8)
    guard path.utf8.count > before.count + after.count, path.utf8.starts(with: before),
      path.utf8.suffix(after.count).elementsEqual(after)
    else { return nil }
    let text = path.utf8.dropFirst(before.count).dropLast(after.count)
    return Self.isIdentifier(text) ? String(Substring(text)) : nil
  }

  /// Apple's identifiers are digits; what else is asked for by path must need no encoding.
  private static func isIdentifier(_ text: Substring.UTF8View) -> Bool {
    (1...128).contains(text.count)
      && text.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}

/// A route that was found, with what its path says.
struct MatchedRoute {
  let route: Route
  /// The identifier in the path; empty where it has none.
  let id: String

  private static let fixed = Dictionary(
    Route.table.filter { $0.around == nil }.map { ($0.path, $0) },
    uniquingKeysWith: { first, _ in first })
  private static let templates = Route.table.filter { $0.around != nil }

  /// What is asked for is matched raw, never decoded or normalised.
  init?(_ path: String) {
    if let route = Self.fixed[path] {
      (self.route, id) = (route, "")
      return
    }
    for route in Self.templates {
      guard let id = route.identifier(in: path) else { continue }
      (self.route, self.id) = (route, id)
      return
    }
    return nil
  }
}
