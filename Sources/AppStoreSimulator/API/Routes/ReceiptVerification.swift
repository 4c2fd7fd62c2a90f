import HTTPServer
import Platform
import SignedData
import StrictJSON

/// Apple's verifyReceipt, for the receipts of the service's authority.
///
/// Source: developer.apple.com/documentation/appstorereceipts/verify-receipt and its status. Every
/// answer has HTTP status 200.
struct ReceiptVerification {
  let authority: SimulatedAuthority
  let behaviour: Behaviour
  /// Milliseconds since 1970.
  let moment: Int64

  /// The reasons of a refusal that this service has.
  private enum Status: Int64, Error {
    case notPosted = 21000
    case malformed = 21002
    case notAuthentic = 21003
    case wrongSecret = 21004
    case ofSandbox = 21007
    case ofProduction = 21008
    case noAccount = 21010
  }

  func answer(_ request: HTTPRequest, _ facts: AppFacts, _ signer: ReceiptSigner?) -> HTTPResponse {
    if let status = behaviour.receiptStatus {
      var members: [(String, JSONValue)] = [("status", .integer(status))]
      if (21100...21199).contains(status) {
        members.append(("is-retryable", .boolean(behaviour.receiptRetryable)))
      }
      return .json(.object(members))
    }
    do throws(Status) {
      return .json(.object(try members(request, facts, signer)))
    } catch {
      return .json(.object([("status", .integer(error.rawValue))]))
    }
  }

  private func members(
    _ request: HTTPRequest, _ facts: AppFacts, _ signer: ReceiptSigner?
  ) throws(Status) -> [(String, JSONValue)] {
    guard request.method == "POST" else { throw .notPosted }
    guard let root = try? JSONDocument(parsing: request.body).root,
      let text = root["receipt-data"]?.string, let der = Base64.decode(ArraySlice(text.utf8)),
      let message = try? SignedMessage(parsing: der)
    else { throw .malformed }
    guard let content = DecodedReceipt(message.content),
      let roots = try? TrustRoots(files: [authority.root]),
      let prover = try? ReceiptProver(roots: roots),
      (try? prover.prove(message, at: content.created)) != nil
    else { throw .notAuthentic }
    guard content.isProduction == facts.isProduction else {
      throw facts.isProduction ? .ofSandbox : .ofProduction
    }
    let account = content.anyTransactionId.flatMap { facts.account(with: $0, at: moment) }
    if content.anyTransactionId != nil, account == nil { throw .noAccount }
    let hasSubscription = account.map { !$0.subscriptions.isEmpty } ?? false
    if hasSubscription, let secret = behaviour.receiptSecret,
      root["password"]?.string != secret
    {
      throw .wrongSecret
    }
    return [
      ("status", .integer(0)), ("environment", .string(facts.app.environment)),
      ("receipt", .object(content.members)),
    ] + latest(account, facts, signer)
  }

  /// What Apple adds for receipts with auto-renewable subscriptions.
  private func latest(
    _ account: CustomerAccount?, _ facts: AppFacts, _ signer: ReceiptSigner?
  ) -> [(String, JSONValue)] {
    guard let account, !account.subscriptions.isEmpty else { return [] }
    let newest = account.purchases.reversed().map { ReceiptFields.transaction($0.transaction) }
    var members: [(String, JSONValue)] = [
      ("latest_receipt_info", .array(newest)),
      (
        "pending_renewal_info",
        .array(account.subscriptions.map { ReceiptFields.renewal($0.renewal) })
      ),
    ]
    if let receipt = account.receipt(authority, signer, facts.app, at: moment) {
      members.append(("latest_receipt", .string(receipt)))
    }
    return members
  }

  /// What the app of one customer holds on its device: the bodies of `POST /v1/transactions`, and
  /// the receipt in base64.
  ///
  /// - Throws: as `APIRoutes.account`; `APIError.internalError` if it cannot be signed.
  func app(
    of id: String, _ facts: AppFacts, _ signer: ReceiptSigner?
  ) throws(APIError) -> HTTPResponse {
    let routes = APIRoutes(
      authority: authority, behaviour: behaviour, moment: moment, hasNotificationURL: false)
    let account = try routes.account(id, facts)
    var transactions: [JSONValue] = []
    for purchase in account.purchases {
      var members = [("signedTransaction", try routes.signNow(purchase.transaction))]
      let subscription = account.subscriptions.first {
        $0.originalId == purchase.transaction.text("originalTransactionId")
      }
      if let subscription {
        members.append(("signedRenewalInfo", try routes.signNow(subscription.renewal)))
      }
      if !facts.isProduction { members.append(("environment", .string(facts.app.environment))) }
      transactions.append(.object(members))
    }
    guard let receipt = account.receipt(authority, signer, facts.app, at: moment) else {
      throw .internalError
    }
    return .json(
      .object([
        ("appTransactionId", .string(account.appTransactionId)),
        ("transactions", .array(transactions)), ("receipt", .string(receipt)),
      ]))
  }
}

extension CustomerAccount {
  /// The customer's receipt in base64; nil if it cannot be signed. Of two customers one has a
  /// receipt signed with SHA-1, as before 2023.
  fileprivate func receipt(
    _ authority: SimulatedAuthority, _ signer: ReceiptSigner?, _ app: SimulatedApp, at moment: Int64
  ) -> String? {
    let isOld = appTransactionId.utf8.last.map { $0 % 2 == 0 } ?? false
    let messages = MessageSigner(
      authority, environment: app.environment, receipts: signer, digests: isOld ? .sha1 : .sha256)
    var content = CustomerPurchases().receipt(of: app, at: moment)
    content.records = purchases.compactMap { ReceiptContent.Record($0.transaction) }
    return try? messages.receipt(content)
  }
}
