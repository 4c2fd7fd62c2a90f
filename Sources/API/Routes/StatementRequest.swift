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

/// Reads a statement from a request.
struct StatementRequest {
  /// A valid statement, with the evidence that is handed over beside it.
  typealias Read = (statement: NewStatement, evidence: [Receiver.Received])

  private let call: Call
  private let configuration: Configuration
  private let receiver: Receiver
  private let key: String?

  static let idempotencyKey = "Idempotency-Key"

  /// - Throws: `StatementFault` for an Idempotency-Key that is not valid.
  init(
    _ call: Call, _ configuration: Configuration, _ receiver: Receiver
  ) throws(StatementFault) {
    (self.call, self.configuration, self.receiver) = (call, configuration, receiver)
    key = try Self.key(call.request)
  }

  /// - Throws: `StatementFault` for the first member or parameter that is not valid, for evidence
  ///   that is not proven, and for what the token may not say.
  func claim() throws(StatementFault) -> Read {
    let account = CustomerName(.account, call.id)
    let body = try mapError(StatementFault.body, try RequestBody.claim.root(call.request.body))
    guard body[SubmittedEvidence.transactionMember] != nil else {
      // Anybody can send an id: without Apple's proof the token answers for it.
      guard call.token.permissions.contains(.claim) else { throw .notAllowed }
      let values = try mapError(StatementFault.body, try RequestBody.claim.values(body))
      return statement(
        .claim(originalTransactionId: values["originalTransactionId"] ?? ""), account,
        values["environment"].map(Environment.init(rawValue:)) ?? .production,
        try app(values["bundleId"], .body(ParameterFault(.missing, RequestBody.claimedApp))))
    }
    guard call.token.permissions.contains(.submit) else { throw .notAllowed }
    let submitted = try mapError(
      {
        StatementFault.refused($0, BodyDiagnosis(wanted: .transaction).finding(call.request.body))
      },
      try receiver.receive(submitted: body, at: Clock.now(), from: call.token.name))
    let id = submitted.streams.first?.originalTransactionId ?? ""
    var read = statement(
      .claim(originalTransactionId: id), account, submitted.environment, submitted.bundleId)
    read.evidence = submitted.parts
    return read
  }

  /// - Throws: as `claim`.
  func release() throws(StatementFault) -> Read {
    statement(
      .release(originalTransactionId: call.ids[1]), CustomerName(.account, call.id),
      call.environment, try app())
  }

  /// - Throws: as `claim`.
  func grant() throws(StatementFault) -> Read {
    let customer = try mapError(StatementFault.query, try Self.customer(call))
    let app = try app()
    let content = try mapError(
      StatementFault.body,
      try Self.grant(call.request.body, configuration.entitlements.names(in: [app])))
    return statement(content, customer, call.environment, app)
  }

  /// - Throws: as `claim`.
  func revocation() throws(StatementFault) -> Read {
    let customer = try mapError(StatementFault.query, try Self.customer(call))
    return statement(
      .revocation(of: call.ids[1], reason: call.query["reason"]), customer, call.environment,
      try app())
  }

  /// - Throws: as `claim`.
  func consent() throws(StatementFault) -> Read {
    let customer = try mapError(StatementFault.query, try Self.customer(call))
    let body = RequestBody.consent
    let values = try mapError(
      StatementFault.body, try body.values(try body.root(call.request.body)))
    return statement(
      .consent(values["granted"] == "true", since: values["at"].flatMap(Timestamp.parse)),
      customer, call.environment, try app())
  }

  private func statement(
    _ content: OwnerStatement.Content, _ customer: CustomerName, _ environment: Environment,
    _ bundleId: String
  ) -> Read {
    let statement = NewStatement(
      content, of: customer, environment: environment, bundleId: bundleId, token: call.token.name,
      idempotencyKey: key, receivedAt: Clock.now())
    return (statement, [])
  }

  /// The customer of a path and its parameter `by`.
  ///
  /// - Throws: `ParameterFault` for an account token that is no UUID.
  static func customer(_ call: Call) throws(ParameterFault) -> CustomerName {
    let kind = call.query["by"].flatMap(CustomerName.Kind.init) ?? .appAccountToken
    guard kind == .appAccountToken else { return CustomerName(kind, call.id) }
    guard let uuid = NotificationUUID(call.id) else {
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

  private func app() throws(StatementFault) -> String {
    try app(call.query["bundle_id"], .query(ParameterFault(.missing, .ownBundleId)))
  }

  /// The app that is named, or the only one that the token covers.
  ///
  /// - Parameter fault: thrown if the token covers several.
  private func app(_ named: String?, _ fault: StatementFault) throws(StatementFault) -> String {
    if let named { return named }
    let apps = configuration.apps.keys.filter { call.token.bundleIds?.contains($0) ?? true }
    guard apps.count == 1, let only = apps.first else { throw fault }
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
