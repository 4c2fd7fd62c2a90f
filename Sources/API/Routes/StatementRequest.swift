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
  case refused(Refusal, BodyFinding?)
  case notAllowed

  var response: HTTPResponse {
    switch self {
    case .query(let fault): Problem.response(fault)
    case .body(let fault): Problem.response(toBody: fault)
    case .refused(let refusal, let finding):
      Problem.response(refusal, to: .transaction, finding: finding)
    case .notAllowed: Problem.notAllowed
    }
  }
}

/// A valid statement of a request, with the evidence that it hands over.
struct StatementRequest {
  let statement: NewStatement
  private(set) var evidence: [Receiver.Received] = []

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
      let body = try mapError(StatementFault.body, try RequestBody.claim.root(request.body))
      if body[SubmittedTransaction.transactionMember] != nil {
        guard token.permissions.contains(.submit) else { throw .notAllowed }
        let submitted = try mapError(
          { StatementFault.refused($0, BodyDiagnosis(wanted: .transaction).finding(request.body)) },
          try receiver.receive(submitted: body, at: Clock.now(), from: token.name))
        let stream = submitted.stream
        evidence = submitted.evidence
        self.statement = statement(
          .claim(originalTransactionId: stream.originalTransactionId), account,
          stream.environment, stream.bundleId)
      } else {
        // Anybody can send an id: without Apple's proof the token answers for it.
        guard token.permissions.contains(.claim) else { throw .notAllowed }
        let values = try mapError(StatementFault.body, try RequestBody.claim.values(body))
        self.statement = statement(
          .claim(originalTransactionId: values["originalTransactionId"] ?? ""), account,
          values["environment"].map(Environment.init(rawValue:)) ?? .production,
          try Self.app(
            values["bundleId"], configuration, token,
            .body(ParameterFault(.missing, RequestBody.claimedApp))))
      }
    case .release:
      self.statement = statement(
        .release(originalTransactionId: admitted.match.ids[1]), account, environment,
        try Self.app(query["bundle_id"], configuration, token, Self.unnamedApp))
    default:
      let customer = try mapError(
        StatementFault.query, try Self.customer(admitted, query))
      let app = try Self.app(query["bundle_id"], configuration, token, Self.unnamedApp)
      let content: OwnerStatement.Content =
        admitted.route.name == .revoke
        ? .revocation(of: admitted.match.ids[1], reason: query["reason"])
        : try mapError(
          StatementFault.body,
          try Self.grant(request.body, configuration.entitlements.names(in: [app])))
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

  private static func grant(
    _ body: [UInt8], _ names: [String]
  ) throws(ParameterFault) -> OwnerStatement.Content {
    let declared = RequestBody.grant(names)
    let values = try declared.values(try declared.root(body))
    let until = values["until"].flatMap(Timestamp.parse)
    guard until ?? .max > Clock.now() else {
      throw ParameterFault(.invalid, "until", expected: .moment)
    }
    return .grant(
      entitlement: values["entitlement"] ?? "", until: until, reason: values["reason"])
  }

  private static let unnamedApp = StatementFault.query(ParameterFault(.missing, .ownBundleId))

  /// The app that is named, or the only one that the token covers.
  ///
  /// - Parameter fault: thrown if the token covers several.
  private static func app(
    _ named: String?, _ configuration: Configuration, _ token: Configuration.ReadToken,
    _ fault: StatementFault
  ) throws(StatementFault) -> String {
    if let named { return named }
    let apps = configuration.apps.keys.filter { token.bundleIds?.contains($0) ?? true }
    guard apps.count == 1, let only = apps.first else {
      throw fault
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
