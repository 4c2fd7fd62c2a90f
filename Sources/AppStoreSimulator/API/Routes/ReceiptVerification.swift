import HTTPServer
import Platform
import SignedData
import StrictJSON

/// Apple's verifyReceipt, for the receipts of the service's authority, and what apps hold.
///
/// Source: developer.apple.com/documentation/appstorereceipts/verify-receipt and its status. Every
/// answer of verifyReceipt has HTTP status 200.
extension APIRoutes {
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

  func verifyReceipt(
    _ request: HTTPRequest, _ facts: AppFacts, _ signer: ReceiptSigner?
  ) -> HTTPResponse {
    if let status = behaviour.receiptStatus {
      var members: [(String, JSONValue)] = [("status", .integer(status))]
      if (21100...21199).contains(status) {
        members.append(("is-retryable", .boolean(behaviour.receiptRetryable)))
      }
      return .json(members)
    }
    do throws(Status) {
      return .json(try members(request, facts, signer))
    } catch {
      return .json([("status", .integer(error.rawValue))])
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
    guard content.isProduction == facts.app.isProduction else {
      throw facts.app.isProduction ? .ofSandbox : .ofProduction
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
    let newest = account.transactions.reversed().map(ReceiptFields.transaction)
    let members: [(String, JSONValue)] = [
      ("latest_receipt_info", .array(newest)),
      ("pending_renewal_info", .array(account.renewals.map(ReceiptFields.renewal))),
    ]
    let receipt = try? receipt(of: account, messages(of: account, facts.app, signer), facts.app)
    return members + (receipt.map { [("latest_receipt", $0)] } ?? [])
  }

  // MARK: What apps hold

  /// The app transaction ids of all customers whom a notification has told of.
  func customers(_ facts: AppFacts) -> HTTPResponse {
    let ids = (0..<facts.fleet.count).flatMap { customer in
      facts.accounts(of: customer, at: moment).map(\.appTransactionId)
    }
    return .json([("appTransactionIds", .array(ids.sorted().map(JSONValue.string)))])
  }

  /// What the app of one customer holds on its device: the bodies of `POST /v1/transactions`, and
  /// the receipt in base64.
  ///
  /// - Throws: as `account`; `APIError.internalError` if it cannot be signed.
  func device(
    of id: String, _ facts: AppFacts, _ signer: ReceiptSigner?
  ) throws(APIError) -> HTTPResponse {
    let account = try account(id, facts)
    let messages = messages(of: account, facts.app, signer)
    do throws(SigningError) {
      var transactions: [JSONValue] = []
      for transaction in account.transactions {
        let stream = transaction.text("originalTransactionId")
        let renewal = account.subscriptions.first { $0.originalId == stream }?.renewal
        transactions.append(
          try messages.body(
            of: transaction.signed(at: moment), renewal?.signed(at: moment)))
      }
      return .json([
        ("appTransactionId", .string(account.appTransactionId)),
        ("transactions", .array(transactions)),
        ("receipt", try receipt(of: account, messages, facts.app)),
      ])
    } catch { throw .internalError }
  }

  /// Of two customers one has a receipt signed with SHA-1, as before 2023.
  private func messages(
    of account: CustomerAccount, _ app: SimulatedApp, _ signer: ReceiptSigner?
  ) -> MessageSigner {
    let isOld = account.appTransactionId.utf8.last.map { $0 % 2 == 0 } ?? false
    return MessageSigner(
      authority, environment: app.environment, receipts: signer, digests: isOld ? .sha1 : .sha256)
  }

  private func receipt(
    of account: CustomerAccount, _ messages: MessageSigner, _ app: SimulatedApp
  ) throws(SigningError) -> JSONValue {
    .string(try messages.receipt(account.receipt(of: app, at: moment)))
  }
}
