import HTTPServer
import Platform
import SignedData
import StrictJSON

/// Get Transaction History and Get Refund History: pages that continue behind a revision.
extension APIRoutes {
  /// A place between two transactions: that of the last one seen, by its date and id.
  private struct Revision {
    let date: Int64
    let id: Int64
    let digest: String

    init(date: Int64, id: Int64, for query: QueryItems, of customer: String) {
      (self.date, self.id) = (date, id)
      let fixed = query.items.filter { $0.name != "revision" }.map { "\($0.name)=\($0.value)" }
      let text = ([customer] + fixed.sorted()).joined(separator: "&")
      digest = Hexadecimal.encode(Array(SHA256.hash(Array(text.utf8)).prefix(8)))
    }

    /// Returns nil if the text is no revision.
    init?(_ text: String) {
      let parts = text.split(separator: "_", omittingEmptySubsequences: false)
      guard parts.count == 3, let date = Int64(parts[0]), let id = Int64(parts[1]) else {
        return nil
      }
      (self.date, self.id, digest) = (date, id, String(parts[2]))
    }

    var text: String { "\(date)_\(id)_\(digest)" }
  }

  /// One transaction at its place.
  private struct Entry {
    let date: Int64
    let id: Int64
    let transaction: JSONValue
  }

  /// - Throws: `APIError` for a parameter that Apple refuses.
  func transactionHistory(
    _ account: CustomerAccount, _ query: QueryItems, _ facts: AppFacts,
    omitsConsumables: Bool = false
  ) throws(APIError) -> HTTPResponse {
    let filter = try TransactionFilter(query)
    let entries = account.purchases.filter { filter.matches($0.transaction) }
      .filter { !omitsConsumables || $0.transaction.text("type") != "Consumable" }
      .map { Entry(date: $0.modified, id: Int64($0.id) ?? 0, transaction: $0.transaction) }
    let members = try page(entries, account, query, isAscending: filter.isAscending)
    return .json(members + facts.app.members)
  }

  /// The refunds in ascending order of their date.
  ///
  /// - Throws: `APIError.invalidRevision`.
  func refunds(_ account: CustomerAccount, _ query: QueryItems) throws(APIError) -> HTTPResponse {
    let entries = account.purchases.compactMap { purchase -> Entry? in
      guard let date = purchase.transaction.number("revocationDate"),
        purchase.transaction.text("revocationType")?.hasPrefix("REFUND") == true
      else { return nil }
      return Entry(date: date, id: Int64(purchase.id) ?? 0, transaction: purchase.transaction)
    }
    return .json(try page(entries, account, query, isAscending: true))
  }

  private func page(
    _ entries: [Entry], _ account: CustomerAccount, _ query: QueryItems, isAscending: Bool
  ) throws(APIError) -> [(String, JSONValue)] {
    let customer = account.appTransactionId
    let start = Revision(
      date: isAscending ? 0 : .max, id: isAscending ? 0 : .max, for: query, of: customer)
    var revision = start
    if let text = query.first("revision") {
      // All other parameters must be those of the page before.
      guard let given = Revision(text), given.digest == start.digest else {
        throw .invalidRevision
      }
      revision = given
    }
    let place = (revision.date, revision.id)
    let rest = entries.filter { isAscending ? ($0.date, $0.id) > place : ($0.date, $0.id) < place }
      .sorted { (($0.date, $0.id) < ($1.date, $1.id)) == isAscending }
    var signed: [JSONValue] = []
    for entry in rest.prefix(Self.pageSize) { signed.append(try signNow(entry.transaction)) }
    let last = rest.prefix(Self.pageSize).last.map {
      Revision(date: $0.date, id: $0.id, for: query, of: customer)
    }
    return [
      ("revision", .string((last ?? revision).text)),
      ("hasMore", .boolean(rest.count > Self.pageSize)), ("signedTransactions", .array(signed)),
    ]
  }
}
