public import AppStore
public import Entitlements
import JournalStore

/// Lists of rows, in key order, page by page.
extension LedgerReader {
  /// Which rows to list: those that match every member that is not nil.
  public struct Filter: Sendable {
    public var appAccountToken: String?
    public var appTransactionId: String?
    public var productId: String?
    public var status: Entitlement.Status?
    public var environment: Environment?
    public var bundleId: String?

    public init() {}

    /// The names of all statuses.
    public static let statuses = Entitlement.Status.allCases.map(\.rawValue)

    /// Sets the status by its name; returns false if there is no such status.
    public mutating func setStatus(_ name: String) -> Bool {
      status = Entitlement.Status(rawValue: name)
      return status != nil
    }
  }

  /// Rows that are scanned for one page at most: a filter that few rows match must not occupy a
  /// thread. Past it a page ends early and says where the next one starts.
  private static let scanLimit = 5000

  /// Up to `limit` rows in key order after a key, and the key after which the next page starts;
  /// nil at the end.
  ///
  /// - Throws: `Failure.notReady` while the projection is built for the first time;
  ///   `Failure.store` if a file cannot be read.
  public func list(
    _ filter: Filter, after: StreamKey?, limit: Int, _ question: Question
  ) throws(Failure) -> (rows: [RowDocument], next: StreamKey?) {
    let projection = try projection()
    var found: [RowDocument] = []
    var last = after
    var scanned = 0
    while found.count < limit, scanned < Self.scanLimit {
      let (start, wanted) = (last, min(500, max(50, limit - found.count)))
      let batch = try store { () throws(StoreError) in
        if let token = filter.appAccountToken {
          return try projection.rows(withAppAccountToken: token, after: start, limit: wanted)
        }
        if let id = filter.appTransactionId {
          return try projection.rows(withAppTransactionId: id, after: start, limit: wanted)
        }
        return try projection.rows(after: start, limit: wanted)
      }
      guard !batch.isEmpty else { return (found, nil) }
      for row in batch {
        scanned += 1
        last = row.key
        if let document = try match(row, filter, question) { found.append(document) }
        if found.count == limit { break }
      }
    }
    return (found, last)
  }

  private func match(
    _ row: ProjectedRow, _ filter: Filter, _ question: Question
  ) throws(Failure) -> RowDocument? {
    guard question.covers(row.key),
      filter.environment ?? row.key.environment == row.key.environment,
      filter.bundleId ?? row.key.bundleId == row.key.bundleId,
      let document = try document(row, question)
    else { return nil }
    if let product = filter.productId, document.entitlement.productId != product { return nil }
    if let status = filter.status, document.entitlement.status != status { return nil }
    return document
  }
}
