public import AppStore
public import Platform
public import StrictJSON

/// Asks Apple's verifyReceipt about a receipt.
///
/// Apple has deprecated the service and still answers. Production is asked first, and the sandbox
/// where Production says that the receipt is of there (status 21007), as Apple advises
/// (developer.apple.com/documentation/appstorereceipts/verify-receipt). The shared secret is only
/// sent where Apple asks for one. Each call is bounded, in time and in requests.
public final class VerifyReceipt {
  /// What Apple says about a receipt.
  public struct Answer: Sendable {
    /// The service that said it.
    public let environment: Environment
    public let status: ReceiptStatus
    /// The whole answer, not proven.
    public let body: JSONElement
  }

  public struct Addresses: Sendable {
    let production: ServiceURL
    let sandbox: ServiceURL

    /// - Parameters: the addresses without the path `verifyReceipt`.
    public init(production: ServiceURL, sandbox: ServiceURL) {
      (self.production, self.sandbox) = (production, sandbox)
    }
  }

  private static let mostAttempts = 3
  /// An answer repeats every purchase of the receipt, with some 1 KB each.
  private static let longestAnswer = 32 << 20

  private let addresses: Addresses
  private let clock: ClientClock
  private let cancellation: Cancellation
  private let http: HTTPClient
  private let userAgent: String

  /// - Parameters:
  ///   - version: of this program, for the header field User-Agent.
  ///   - proxy: a proxy for all requests; nil for none.
  /// - Throws: `ClientError.failed` when curl cannot be initialised.
  public init(
    _ addresses: Addresses, version: String, proxy: ServiceURL? = nil, cancellation: Cancellation,
    clock: ClientClock = .system
  ) throws(ClientError) {
    (self.addresses, self.clock, self.cancellation) = (addresses, clock, cancellation)
    var settings = ClientSettings()
    settings.bodyBytes = Self.longestAnswer
    settings.proxy = proxy
    http = try HTTPClient(settings)
    userAgent = "subledger/\(version)"
  }

  /// Why there is no answer. Holds no part of the request or the answer.
  public enum Failure: Error, CustomStringConvertible {
    case transport(ClientError)
    /// An HTTP status other than 200.
    case http(Int)
    /// What is wrong with the answer.
    case answer(String)

    public var description: String {
      switch self {
      case .transport(let error): "Apple's verifyReceipt: \(error)"
      case .http(let status): "Apple's verifyReceipt answers with HTTP status \(status)"
      case .answer(let what): "the answer of Apple's verifyReceipt cannot be read: \(what)"
      }
    }
  }

  /// Asks about a receipt.
  ///
  /// - Parameters:
  ///   - receipt: in DER.
  ///   - secrets: the shared secrets of its app, tried in order where Apple asks for one.
  /// - Throws: `Failure`.
  public func ask(_ receipt: [UInt8], secrets: [String]) throws(Failure) -> Answer {
    let text = String(decoding: Base64.encode(receipt), as: UTF8.self)
    var environment = Environment.production
    var untried = secrets[...]
    var secret: String?
    while true {
      let answer = try answer(about: text, secret, environment)
      switch answer.status.code {
      case ReceiptStatus.ofSandbox where environment == .production:
        environment = .sandbox
      case ReceiptStatus.wrongSecret where !untried.isEmpty:
        secret = untried.removeFirst()
      default:
        return answer
      }
    }
  }

  /// One answer of one service; what Apple calls temporary is repeated.
  private func answer(
    about receipt: String, _ secret: String?, _ environment: Environment
  ) throws(Failure) -> Answer {
    let service = environment == .production ? addresses.production : addresses.sandbox
    var members = [("receipt-data", JSONValue.string(receipt))]
    if let secret { members.append(("password", .string(secret))) }
    let request = ClientRequest(
      .post, service.appending(["verifyReceipt"]),
      fields: [
        (name: "Accept", value: "application/json"),
        (name: "Content-Type", value: "application/json"),
        (name: "User-Agent", value: userAgent),
      ], body: JSONValue.object(members).bytes)
    var attempt = 1
    while true {
      let response = try mapError(Failure.transport, try http.send(request, cancellation))
      let isLast = attempt == Self.mostAttempts
      if response.status == 200 {
        let answer = try read(response, environment)
        guard answer.status.isTemporary, !isLast else { return answer }
      } else {
        guard response.status >= 500, !isLast else { throw .http(response.status) }
      }
      clock.wait(Int64(attempt) * 1000, cancellation)
      guard !cancellation.isRequested else { throw .transport(.cancelled) }
      attempt += 1
    }
  }

  private func read(
    _ response: ClientResponse, _ environment: Environment
  ) throws(Failure) -> Answer {
    // Apple does not always name the type of the content.
    let root: JSONElement
    do throws(JSONError) { root = try JSONDocument(parsing: response.body).root } catch {
      throw .answer("\(error.reason.rawValue) at byte \(error.offset)")
    }
    guard let code = root["status"]?.integer else { throw .answer("it has no status") }
    let flag = root["is-retryable"] ?? root["is_retryable"]
    let isRetryable = flag?.boolean ?? flag?.integer.map { $0 != 0 }
    return Answer(
      environment: environment, status: ReceiptStatus(code: code, isRetryable: isRetryable),
      body: root)
  }
}

/// A status of verifyReceipt.
///
/// Source: developer.apple.com/documentation/appstorereceipts/status.
public struct ReceiptStatus: Sendable, Equatable {
  static let wrongSecret: Int64 = 21004
  static let ofSandbox: Int64 = 21007

  public let code: Int64
  /// Whether the same request may succeed later: Apple says so of internal errors.
  private let isRetryable: Bool?

  init(code: Int64, isRetryable: Bool? = nil) {
    (self.code, self.isRetryable) = (code, isRetryable)
  }

  /// Whether Apple vouches for the receipt.
  public var isValid: Bool { code == 0 || code == 21006 }

  /// Whether the status says nothing about the receipt, because Apple could not judge it.
  public var isTemporary: Bool {
    switch code {
    case 21002, 21005, 21009: true
    case 21100...21199: isRetryable ?? true
    default: false
    }
  }

  /// What it means, and what to do.
  public var explanation: String {
    switch code {
    case 0: "the receipt is valid"
    case 21000: "the request was not made with POST: something between here and Apple changed it"
    case 21001: "a status that Apple no longer sends"
    case 21002: "the receipt is malformed, or the service had a temporary problem: try again"
    case 21003: "the receipt could not be authenticated: Apple did not sign it"
    case Self.wrongSecret:
      "the shared secret is missing or not that of the app: see v1SharedSecretFile in the "
        + "configuration, and App Store Connect, App Information, App-Specific Shared Secret"
    case 21005: "the receipt server was not available: try again"
    case 21006: "the receipt is valid, but its subscription has expired (receipts of iOS 6 alone)"
    case Self.ofSandbox: "the receipt is of the sandbox, but was sent to Production"
    case 21008: "the receipt is of Production, but was sent to the sandbox"
    case 21009: "an internal error at Apple: try again later"
    case 21010: "the account of the customer was not found, or has been deleted"
    case 21100...21199:
      "an internal error at Apple"
        + (isTemporary ? ": try again later" : ", which Apple says to be final: do not try again")
    default: "a status that Apple has not documented"
    }
  }
}
