import AppStore
import Entitlements
import HTTPServer
import Ledger
import Platform
import Store
import StrictJSON

/// Why a statement is refused before it reaches the writer.
enum StatementFault: Error {
  case query(ParameterFault)
  case body(ParameterFault)
  case refused(Refusal)
  case notAllowed

  var response: HTTPResponse {
    switch self {
    case .query(let fault): Problem.response(fault)
    case .body(let fault): Problem.response(toBody: fault)
    case .refused(let refusal): Problem.response(toTransaction: refusal)
    case .notAllowed: Problem.notAllowed
    }
  }
}

/// A valid statement of a request, with the evidence that it hands over.
struct StatementRequest {
  let statement: NewStatement
  private(set) var evidence: [Receiver.Received] = []

  /// The longest reason of a grant, in characters.
  static let maximumReason = 500
  static let idempotencyKey = "Idempotency-Key"

  /// - Throws: `StatementFault` for the first member or parameter that is not valid, for evidence
  ///   that is not proven, and for what the token may not say.
  init(
    _ admitted: AdmittedRequest, _ request: HTTPRequest, _ token: Configuration.ReadToken,
    _ configuration: Configuration, _ receiver: Receiver
  ) throws(StatementFault) {
    let query = try mapError(
      StatementFault.query, try QueryString(request.query, of: admitted.route))
    let key = try Self.key(request)
    func statement(
      _ content: OwnerStatement.Content, _ customer: CustomerName, _ environment: Environment,
      _ bundleId: String
    ) -> NewStatement {
      NewStatement(
        content, of: customer, environment: environment, bundleId: bundleId, token: token.name,
        idempotencyKey: key, receivedAt: Clock.now())
    }
    let account = CustomerName(.account, admitted.id)
    let environment = query.environment ?? .production
    switch admitted.route.name {
    case .claim:
      let body = try Self.object(request.body)
      if body[SubmittedTransaction.transactionMember] != nil {
        guard token.permissions.contains(.submit) else { throw .notAllowed }
        let submitted = try mapError(
          StatementFault.refused,
          try receiver.receive(submitted: body, at: Clock.now(), from: token.name))
        let stream = submitted.stream
        evidence = submitted.evidence
        self.statement = statement(
          .claim(originalTransactionId: stream.originalTransactionId), account,
          stream.environment, stream.bundleId)
      } else {
        // Anybody can send an id: without Apple's proof the token answers for it.
        guard token.permissions.contains(.claim) else { throw .notAllowed }
        let bare = try BareClaim(body)
        self.statement = statement(
          .claim(originalTransactionId: bare.originalTransactionId), account, bare.environment,
          try Self.app(bare.bundleId, configuration, token) { .body($0) })
      }
    case .release:
      self.statement = statement(
        .release(originalTransactionId: admitted.match.ids[1]), account, environment,
        try Self.app(query["bundle_id"], configuration, token) { .query($0) })
    default:
      let customer = try mapError(
        StatementFault.query, try Self.customer(admitted, query))
      let app = try Self.app(query["bundle_id"], configuration, token) { .query($0) }
      let content: OwnerStatement.Content =
        admitted.route.name == .revoke
        ? .revocation(of: admitted.match.ids[1])
        : try Self.grant(
          try Self.object(request.body), configuration.entitlements.names(in: [app]))
      self.statement = statement(content, customer, environment, app)
    }
  }

  /// The customer of a path and its parameter `by`.
  ///
  /// - Throws: `ParameterFault` for an account token that is no UUID.
  static func customer(
    _ admitted: AdmittedRequest, _ query: QueryString
  ) throws(ParameterFault) -> CustomerName {
    let kind = query["by"].flatMap(CustomerName.Kind.init) ?? .appAccountToken
    guard kind == .appAccountToken else { return CustomerName(kind, admitted.id) }
    guard let uuid = NotificationUUID(admitted.id) else {
      throw ParameterFault(.invalid, "id", expected: .uuid)
    }
    return CustomerName(kind, uuid.description)
  }

  // MARK: Bodies

  private static func object(_ body: [UInt8]) throws(StatementFault) -> JSONElement {
    guard let root = try? JSONDocument(parsing: body, within: .unproven).root,
      root.kind == .object
    else { throw .body(ParameterFault(.invalid, nil)) }
    return root
  }

  /// A claim without Apple's proof.
  private struct BareClaim {
    let originalTransactionId: String
    let environment: Environment
    let bundleId: String?

    private static let members = ["originalTransactionId", "environment", "bundleId"]

    init(_ body: JSONElement) throws(StatementFault) {
      if body.members.contains(where: { !Self.members.contains($0.name) }) {
        throw .body(ParameterFault(.unknown, nil, expected: .oneOf(Self.members)))
      }
      guard let id = body["originalTransactionId"] else {
        throw .body(
          ParameterFault(.missing, "originalTransactionId", expected: Parameter.id.schema))
      }
      guard let text = id.string, Route.isIdentifier(text.utf8) else {
        throw .body(
          ParameterFault(.invalid, "originalTransactionId", expected: Parameter.id.schema))
      }
      let name = body["environment"].map { $0.string ?? "" } ?? "Production"
      guard Parameter.environments.contains(name) else {
        throw .body(ParameterFault(.invalid, .environment))
      }
      originalTransactionId = text
      environment = Environment(rawValue: name)
      bundleId = body["bundleId"]?.string
    }
  }

  private static let grantMembers = ["entitlement", "until", "reason"]

  private static func grant(
    _ body: JSONElement, _ names: [String]
  ) throws(StatementFault) -> OwnerStatement.Content {
    if body.members.contains(where: { !grantMembers.contains($0.name) }) {
      throw .body(ParameterFault(.unknown, nil, expected: .oneOf(grantMembers)))
    }
    guard let name = body["entitlement"] else {
      throw .body(ParameterFault(.missing, "entitlement", expected: .oneOf(names)))
    }
    guard let entitlement = name.string, names.contains(entitlement) else {
      throw .body(ParameterFault(.invalid, "entitlement", expected: .oneOf(names)))
    }
    var until: Int64?
    if let member = body["until"], member.kind != .null {
      until = member.integer ?? member.string.flatMap(Timestamp.parse)
      guard let until, until > Clock.now() else {
        throw .body(ParameterFault(.invalid, "until", expected: .moment))
      }
    }
    var reason: String?
    if let member = body["reason"], member.kind != .null {
      reason = member.string
      guard let reason, (1...maximumReason).contains(reason.count) else {
        throw .body(ParameterFault(.invalid, "reason", expected: .text("")))
      }
    }
    return .grant(entitlement: entitlement, until: until, reason: reason)
  }

  /// The app that is named, or the only one that the token covers.
  private static func app(
    _ named: String?, _ configuration: Configuration, _ token: Configuration.ReadToken,
    _ fault: (ParameterFault) -> StatementFault
  ) throws(StatementFault) -> String {
    if let named { return named }
    let apps = configuration.apps.keys.filter { token.bundleIds?.contains($0) ?? true }
    guard apps.count == 1, let only = apps.first else {
      throw fault(ParameterFault(.missing, .ownBundleId))
    }
    return only
  }

  private static func key(_ request: HTTPRequest) throws(StatementFault) -> String? {
    let all = request.headers.all(idempotencyKey)
    guard let key = all.first else { return nil }
    guard all.count == 1, (1...255).contains(key.utf8.count) else {
      throw .query(ParameterFault(.invalid, idempotencyKey, expected: .text("")))
    }
    return key
  }
}
