import HTTPServer
import Ledger
import StrictJSON

/// One route: its declaration, from which routing, `Allow`, the check of parameters and the OpenAPI
/// document are derived, so that they cannot contradict each other; and the function that answers.
///
/// Each stands beside its function; `table` lists them.
final class Route: Sendable {
  /// Answers a request whose token and query are valid; nil if the sender sends the answer later.
  typealias Answer =
    @Sendable (LedgerHandler) -> (Call) throws(ParameterFault) -> HTTPResponse?

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

  /// How the document groups the routes: clients that are generated from it have a module for each.
  enum Tag: String, CaseIterable {
    case customers, accounts, entitlements, refunds, ingest, ledger, daemon

    var meaning: String {
      switch self {
      case .customers: "What customers may use, by the names that the owner chose."
      case .accounts: "Which of your users have which purchases."
      case .entitlements: "Rows of single purchases, and their history."
      case .refunds: "Requests of customers for refunds, and how they ended."
      case .ingest: "What Apple signed, to be proven and journaled."
      case .ledger: "Counts, quarantine and comparisons of the whole ledger."
      case .daemon: "The state of the daemon; open to anyone, but for metrics."
      }
    }
  }

  /// Its name in the document; nil for one that is not of the public contract: of the unix socket,
  /// or a page of the console.
  let operationId: String?
  let tag: Tag
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
  /// The longest body, in bytes, from the configured one of a notification.
  let bodyLimit: @Sendable (Int) -> Int
  let replies: [Reply]
  let answer: Answer
  let pathParameters: [Parameter]
  let queryParameters: [Parameter]
  /// Whether it journals something, or erases it.
  let isIngest: Bool
  /// Whether parameters that it does not have are refused: one that is not read might have meant
  /// something, such as another environment. Apple, and who looks after the daemon, may add some.
  let checksQuery: Bool
  /// What names it in the log.
  var title: String { "\(method) \(path)" }

  init(
    _ operationId: String?, _ tag: Tag, _ method: String, _ path: String, _ access: Access,
    _ summary: String, _ parameters: [Parameter] = [], bodies: [RequestBody] = [],
    bodyLimit: @escaping @Sendable (Int) -> Int = { _ in 4096 }, replies: [Reply] = [],
    answer: @escaping Answer
  ) {
    (self.operationId, self.tag, self.method, self.path) = (operationId, tag, method, path)
    (self.access, self.summary, self.parameters) = (access, summary, parameters)
    (self.bodies, self.bodyLimit, self.replies) = (bodies, bodyLimit, replies)
    self.answer = answer
    pathParameters = parameters.filter(\.isInPath)
    queryParameters = parameters.filter { !$0.isInPath }
    methods = method == "GET" ? ["GET", "HEAD"] : [method]
    let isOfDaemon = tag == .daemon
    checksQuery = if case .tokens = access { !isOfDaemon } else { false }
    let isRead = if case .tokens(let all) = access { all.contains(.read) } else { isOfDaemon }
    isIngest = !isRead && method != "GET"
  }

  /// A route of the unix socket, by which a command hands work to the daemon.
  convenience init(
    local method: String, _ path: String, _ parameters: [Parameter] = [],
    bodyLimit: @escaping @Sendable (Int) -> Int = { _ in 4096 }, answer: @escaping Answer
  ) {
    self.init(
      nil, .daemon, method, path, .local, "", parameters, bodyLimit: bodyLimit, answer: answer)
  }
}
