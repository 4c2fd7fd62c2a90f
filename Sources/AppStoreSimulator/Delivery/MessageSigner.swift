import Platform
public import SignedData
import StrictJSON

/// Signs messages as Apple does, and makes the bodies in which they are sent.
public struct MessageSigner: Sendable {
  /// With which digests receipts are signed. Apple changed from SHA-1 to SHA-256 in 2023.
  public enum Digests: String, Sendable, CaseIterable { case sha256, sha1, both }

  private let authority: SimulatedAuthority
  private let environment: String
  /// Nil if no message has a receipt.
  private let receipts: ReceiptSigner?
  private let digests: Digests
  private let v1Secret: String

  /// - Parameters:
  ///   - environment: that of the messages, `Production` or `Sandbox`.
  ///   - receipts: signs receipts; nil if no message has one.
  ///   - v1Secret: the `password` of version 1 notifications.
  public init(
    _ authority: SimulatedAuthority, environment: String = "Production",
    receipts: ReceiptSigner? = nil, digests: Digests = .sha256, v1Secret: String = ""
  ) {
    (self.authority, self.environment) = (authority, environment)
    (self.receipts, self.digests, self.v1Secret) = (receipts, digests, v1Secret)
  }

  /// The body of a POST: of `/v1/notifications`, `/v1/transactions` or `/v1/receipts`. It is also a
  /// line that `subledger ingest` reads.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  public func body(_ message: SimulatedMessage) throws(SigningError) -> [UInt8] {
    switch message.content {
    case .notification(let payload): return try authority.sign(notification: payload)
    case .v1(let body, let content):
      let text = try receipt(content)
      return VersionOne.complete(body, receipt: text, password: v1Secret).bytes
    case .transaction(let transaction, let renewal):
      return try body(of: transaction, renewal).bytes
    case .receipt(let content):
      return JSONValue.object([("receipt", .string(try receipt(content)))] + expected).bytes
    }
  }

  /// What StoreKit 2 gives to an app about a purchase, as the body of `POST /v1/transactions`.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  func body(of transaction: JSONValue, _ renewal: JSONValue?) throws(SigningError) -> JSONValue {
    var members = [("signedTransaction", try authority.signed(transaction))]
    if let renewal { members.append(("signedRenewalInfo", try authority.signed(renewal))) }
    return .object(members + expected)
  }

  /// A receipt in base64.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  func receipt(_ content: ReceiptContent) throws(SigningError) -> String {
    guard let receipts else { throw .failed("find a signer of receipts") }
    let der = try receipts.sign(content.encoded, digest: digest(content))
    return String(decoding: Base64.encode(der), as: UTF8.self)
  }

  /// One of both follows from the receipt's number of records and its second.
  private func digest(_ content: ReceiptContent) -> SigningKey.Digest {
    switch digests {
    case .sha256: .sha256
    case .sha1: .sha1
    case .both:
      (Int64(content.records.count) + content.creationDate / 1000) % 2 == 0 ? .sha256 : .sha1
    }
  }

  /// A body says which environment its sender expects, if it is not Production.
  private var expected: [(String, JSONValue)] {
    environment == "Production" ? [] : [("environment", .string(environment))]
  }
}
