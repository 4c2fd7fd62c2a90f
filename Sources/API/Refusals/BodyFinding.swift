import Ledger

/// What a refused body seems to be, by its form alone, and what to do with it. It is made of fixed
/// words: no byte of the body is repeated, and nothing of it is proven.
struct BodyFinding: Sendable, Equatable {
  let what: String
  let next: String

  init(_ what: String, _ next: String) {
    self.what = what
    self.next = next
  }

  var text: String { "What came looks like \(what). \(next)" }

  // MARK: What belongs to another path

  /// - Parameter form: what is said of its form.
  static func signed(_ kind: ClaimedJWS.Kind, _ form: String = "") -> BodyFinding {
    let (name, next) =
      switch kind {
      case .notification:
        ("a notification of version 2", "Send it to POST /v1/notifications as signedPayload.")
      case .transaction:
        (
          "a signed transaction of StoreKit 2",
          "Send it to POST /v1/transactions as signedTransaction."
        )
      case .renewal:
        (
          "signed renewal information",
          "Send it to POST /v1/transactions as signedRenewalInfo, beside its transaction."
        )
      case .appTransaction:
        (
          "a signed app transaction, which names no purchase",
          "Send jwsRepresentation of a Transaction to POST /v1/transactions as signedTransaction."
        )
      }
    return BodyFinding(name + form, next)
  }

  static func decoded(_ kind: ClaimedJWS.Kind) -> BodyFinding {
    let signed = signed(kind)
    return BodyFinding(
      "the decoded payload of \(signed.what), without Apple's signature",
      "Take the JWS that it was decoded from. \(signed.next)")
  }

  static func receipt(_ form: String = "") -> BodyFinding {
    BodyFinding("a receipt\(form)", "Send it to POST /v1/receipts as receipt, in base64.")
  }

  static let xcode = BodyFinding(
    "what Xcode signs for a local test", "It proves nothing: test with a Sandbox account.")

  static let old = BodyFinding(
    "a transaction from before Apple's transactions had a member environment, as in 2021",
    "Take it from StoreKit again, or let subledger import ask Apple for it by its id.")

  static let unity = BodyFinding(
    "a receipt as Unity wraps it", "Send the text of its member Payload as receipt.")

  // MARK: Forms of the whole body

  static let empty = BodyFinding("an empty body", "Pass the body on, as it came.")

  static let escaped = BodyFinding(
    "a body with HTML escapes such as &quot;",
    "Pass on the raw body, before a program escapes it.")

  static let form = BodyFinding(
    "a form, name=value", "Send a JSON object with the same member instead.")

  static let encodedTwice = BodyFinding(
    "JSON inside of a JSON text: it was encoded twice", "Send the inner text as the body.")

  static let list = BodyFinding("a list", "Send each item in a request of its own.")

  static let otherSpelling = BodyFinding(
    "a JSON object with the member in another spelling",
    "Names are compared byte by byte, with upper and lower case.")
}

/// What a service puts around a body that it passes on.
struct BodyWrapper: Sendable {
  let members: [String]
  let finding: BodyFinding

  /// The first whose members are all there.
  static let all = [
    BodyWrapper(
      members: ["TopicArn", "SubscribeURL"],
      finding: BodyFinding(
        "a request of Amazon SNS to confirm a subscription",
        "Open its SubscribeURL yourself, and turn on raw message delivery.")),
    BodyWrapper(
      members: ["TopicArn", "Message"],
      finding: BodyFinding(
        "a message of Amazon SNS",
        "Turn on raw message delivery of the subscription, or send the text of its member Message "
          + "as the body.")),
    BodyWrapper(
      members: ["message", "subscription"],
      finding: BodyFinding(
        "a push message of Google Pub/Sub",
        "Turn on payload unwrapping of the subscription, or send message.data, decoded from "
          + "base64, as the body.")),
    BodyWrapper(
      members: ["detail-type", "detail"],
      finding: BodyFinding(
        "an event of Amazon EventBridge",
        "Give its target the input path $.detail, or send its member detail as the body.")),
    lambda(["requestContext", "body"]), lambda(["httpMethod", "body"]),
    BodyWrapper(
      members: ["Records"],
      finding: BodyFinding(
        "a batch of records as AWS Lambda gets it",
        "Send each in a request of its own: the text of its body, or of Sns.Message.")),
    BodyWrapper(
      members: ["specversion", "data"],
      finding: BodyFinding("a CloudEvent", "Send its member data as the body.")),
  ]

  private static func lambda(_ members: [String]) -> BodyWrapper {
    BodyWrapper(
      members: members,
      finding: BodyFinding(
        "a request as AWS Lambda gets it",
        "Send the text of its member body as the body, decoded from base64 if isBase64Encoded is "
          + "true."))
  }
}
