import AppStore
import Clients
import Ledger
import Platform
import Store

/// Finds the original transaction ids that belong to an id, by asking Apple.
///
/// Apple answers for one app in one environment, so each that is configured is asked, Production
/// first, until one knows the id. Only what is proven to be signed by Apple counts (promise 3).
struct AppStoreSearch {
  /// An original transaction id, and what Apple returned of it.
  struct Found {
    let key: StreamKey
    var productIds: Set<String> = []
    var transactions = 0
  }

  /// What an id may be, as far as its text says.
  enum Kind: String {
    /// Digits: of a transaction, or of the app transaction of a customer.
    case transaction
    /// The order id in the mail that Apple sends to a customer.
    case order
  }

  let id: String
  let kind: Kind
  private let configuration: Configuration
  private let cancellation: Cancellation
  private let proof: NotificationProof
  /// How often Apple is asked, and how long.
  private let policy: RetryPolicy
  private let settings: ClientSettings
  /// The most pages of one customer's transactions, 20 on each.
  private static let mostPages = 500

  /// - Throws: `LedgerError.usage` if the text is no id that Apple gives; `.configuration` if a
  ///   trust root is unusable.
  init(
    _ id: String, _ configuration: Configuration, _ cancellation: Cancellation,
    _ policy: RetryPolicy = .interactive, _ settings: ClientSettings = ClientSettings()
  ) throws(LedgerError) {
    let isPlain = id.utf8.allSatisfy {
      (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || Self.isLetter($0)
    }
    guard isPlain, (1...64).contains(id.utf8.count) else {
      throw .usage("this is no order id, transaction id or app transaction id")
    }
    self.id = id
    kind = id.utf8.contains(where: Self.isLetter) ? .order : .transaction
    self.configuration = configuration
    self.cancellation = cancellation
    (self.policy, self.settings) = (policy, settings)
    proof = try NotificationProof(configuration.trustRoots)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  /// Asks until an app knows the id.
  ///
  /// - Parameters:
  ///   - app: the only bundle id to ask about; nil for all.
  ///   - environment: the only environment to ask in; nil for all.
  /// - Returns: in the order of keys; empty if Apple does not know the id.
  /// - Throws: `LedgerError.usage` if nothing can be asked, `.unavailable` if Apple could not be
  ///   asked, `.findings` for an answer that Apple did not sign, `.stopped`.
  func run(app: String?, environment: Environment?) throws(LedgerError) -> [Found] {
    var refused: AppStoreError?
    for account in try accounts(app, environment) {
      let client = try AppStoreAccounts.client(account, policy, cancellation, settings)
      switch ask(client) {
      case .success(let texts) where texts.isEmpty: continue
      case .success(let texts): return try found(texts, account)
      case .failure(let error):
        switch error.reason {
        case .cancelled: throw .stopped("stopped")
        // Also an app that was never released, in Production. Another app may know the id.
        case .unauthorized: refused = refused ?? error
        default: throw .unavailable("\(error)")
        }
      }
    }
    // An app that could not be asked may have known the id.
    if let refused { throw .unavailable("\(refused)") }
    return []
  }

  /// Which apps are asked, and where, as text.
  ///
  /// - Throws: as `run`.
  func asked(app: String?, environment: Environment?) throws(LedgerError) -> String {
    try accounts(app, environment).map { "\($0.bundleId) in \($0.environment)" }
      .joined(separator: ", ")
  }

  // MARK: Asking

  /// Who is asked.
  private func accounts(
    _ bundleId: String?, _ environment: Environment?
  ) throws(LedgerError) -> [AppStoreAccount] {
    if kind == .order, environment == .sandbox {
      throw .usage("Apple looks up order ids in Production alone")
    }
    return try AppStoreAccounts(
      configuration, app: bundleId, environment: environment,
      in: kind == .order ? [.production] : Environment.all
    ).all
  }

  /// The signed transactions that belong to the id; empty if this app and environment do not know
  /// it.
  private func ask(_ client: AppStoreClient) -> Result<[String], AppStoreError> {
    Result { () throws(AppStoreError) in
      do throws(AppStoreError) {
        guard kind == .transaction else { return try client.lookUpOrder(id).signedTransactions }
        return [try client.transactionInfo(id)]
      } catch {
        switch error.code {
        case .transactionIdNotFound: return []
        // An app transaction: all that its customer has in the app.
        case .appTransactionIdNotSupported, .invalidTransactionId:
          return try history(client)
        default: throw error
        }
      }
    }
  }

  private func history(_ client: AppStoreClient) throws(AppStoreError) -> [String] {
    var texts: [String] = []
    var revision: String?
    do throws(AppStoreError) {
      for _ in 0..<Self.mostPages {
        let page = try client.transactionHistory(id, revision: revision)
        texts += page.signedTransactions
        guard page.hasMore else { break }
        revision = page.revision
      }
    } catch {
      switch error.code {
      case .transactionIdNotFound, .invalidTransactionId: return []
      default: throw error
      }
    }
    return texts
  }

  // MARK: Proof

  private func found(
    _ texts: [String], _ account: AppStoreAccount
  ) throws(LedgerError) -> [Found] {
    var found: [StreamKey: Found] = [:]
    for text in texts {
      let signed = try mapError(
        { (refusal: Refusal) in
          LedgerError.findings(
            "\(account.bundleId) in \(account.environment): an answer is not proven to be signed "
              + "by Apple (\(refusal.code)); check appStore and trustRoots in the configuration")
        }, try proof.transaction(Array(text.utf8), at: Clock.now()))
      guard signed.bundleId == account.bundleId, signed.environment == account.environment else {
        throw .findings("an answer is of another app or environment than the one asked")
      }
      let transaction = signed.transaction
      let key = StreamKey(
        environment: account.environment, bundleId: account.bundleId,
        originalTransactionId: transaction.originalTransactionId ?? transaction.transactionId)
      var entry = found[key] ?? Found(key: key)
      entry.transactions += 1
      if let productId = transaction.productId { entry.productIds.insert(productId) }
      found[key] = entry
    }
    return found.values.sorted { $0.key < $1.key }
  }
}
