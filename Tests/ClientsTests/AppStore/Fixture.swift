import AppStore
import Clients
import Platform
import SignedData
import StrictJSON
import Support
import Testing

/// A client whose server answers from a script.
struct Fixture {
  typealias Step = ScriptedServer.Step

  static let bundleId = "com.example.app"
  static let key = Result { try SigningKey.generate(.p256) }

  let server: ScriptedServer
  let time = FakeTime()
  let cancellation = Cancellation()
  let client: AppStoreClient

  init(
    _ environment: Environment = .production, policy: RetryPolicy = .background,
    share: Double = 0.5, total: Int = 20_000,
    answer: @escaping @Sendable (ScriptedServer.Request) -> [Step]
  ) throws {
    server = try ScriptedServer(answer)
    var settings = ClientSettings()
    settings.totalMilliseconds = total
    client = try AppStoreClient(
      try Self.account(environment, at: server.address, share: share), version: "1.2",
      policy: policy, cancellation: cancellation, clock: time.clock(), settings: settings)
  }

  static func account(
    _ environment: Environment, at address: String, share: Double = 0.5
  ) throws -> AppStoreAccount {
    AppStoreAccount(
      bundleId: bundleId, environment: environment, service: try #require(ServiceURL(address)),
      key: AppStoreKey(
        issuerId: "issuer-1", keyId: "KEYID12345", signing: try key.get()), limitShare: share)
  }

  /// Answers the n-th request with the n-th of these, and all after them with the last.
  static func inTurn(_ answers: [[Step]]) -> @Sendable (ScriptedServer.Request) -> [Step] {
    let turn = Counter()
    return { _ in answers[min(turn.next(), answers.count - 1)] }
  }

  static func error(_ code: Int64, fields: String = "") -> Step {
    .response(
      Int(code / 10_000), #"{"errorCode":\#(code),"errorMessage":"canary-message"}"#,
      fields: fields)
  }

  static let info = Step.response(200, #"{"signedTransactionInfo":"a.b.c"}"#)

  /// The error of one call.
  func failure() throws -> AppStoreError {
    try #require(throws: AppStoreError.self) { try client.transactionInfo("1") }
  }
}
