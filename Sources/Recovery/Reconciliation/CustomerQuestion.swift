import Clients
import Platform

/// Asks Apple for everything about one customer at a time. One for each thread.
///
/// Apple answers for one app in one environment, so each that is configured is asked, Production
/// first, until one knows the id.
final class CustomerQuestion {
  private let clients: [AppStoreClient]
  /// Pages of one customer's transactions at most, 20 on each.
  private static let mostPages = 1_000
  /// AccountNotFound, InvalidTransactionId, OriginalTransactionIdNotFound, TransactionIdNotFound.
  private static let unknown: Set<Int64> = [4_040_001, 4_000_006, 4_040_005, 4_040_010]

  /// - Parameters:
  ///   - accounts: in the order in which they are asked.
  ///   - version: of this program.
  /// - Throws: `ClientError.failed` when curl cannot be initialised.
  init(
    _ accounts: [AppStoreAccount], version: String, _ policy: RetryPolicy,
    _ cancellation: Cancellation
  ) throws(ClientError) {
    var clients: [AppStoreClient] = []
    for account in accounts {
      clients.append(
        try AppStoreClient(account, version: version, policy: policy, cancellation: cancellation))
    }
    self.clients = clients
  }

  /// - Parameter id: any transaction id of the customer, or the app transaction id.
  /// - Returns: nil if Apple does not know the id.
  /// - Throws: `AppStoreError` if an app that may know it could not be asked.
  func ask(_ id: String) throws(AppStoreError) -> CustomerAnswer? {
    var refused: AppStoreError?
    for client in clients {
      do throws(AppStoreError) {
        let account = client.account
        return CustomerAnswer(
          bundleId: account.bundleId, environment: account.environment,
          subscriptions: try client.subscriptionStatuses(id),
          transactions: try transactions(id, client))
      } catch {
        if let code = error.code, Self.unknown.contains(code.rawValue) { continue }
        // Production refuses each call about an app that was never released.
        guard case .unauthorized = error.reason else { throw error }
        refused = refused ?? error
      }
    }
    if let refused { throw refused }
    return nil
  }

  private func transactions(
    _ id: String, _ client: AppStoreClient
  ) throws(AppStoreError) -> [String] {
    var found: [String] = []
    var revision: String?
    var hasRestarted = false
    for _ in 0..<Self.mostPages {
      do throws(AppStoreError) {
        let page = try client.transactionHistory(id, revision: revision)
        found += page.signedTransactions
        guard page.hasMore else { break }
        revision = page.revision
      } catch {
        guard error.code?.action == .restart, !hasRestarted else { throw error }
        (found, revision, hasRestarted) = ([], nil, true)
      }
    }
    return found
  }
}
