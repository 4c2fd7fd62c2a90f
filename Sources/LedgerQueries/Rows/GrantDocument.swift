public import AppStore
import Entitlements
public import JournalStore
public import StrictJSON

/// An entitlement that the owner granted: the `grant` object of the public contract. Times are
/// milliseconds since 1970.
public struct GrantDocument: Sendable {
  public let seq: Int64
  public let bundleId: String
  let id: String
  let entitlement: String
  let grantedAt: Int64
  let until: Int64?
  let reason: String?
  let token: String
  /// When it was ended, and by which event; nil if it was not.
  private(set) var revokedAt: Int64?
  public private(set) var revokedBy: Int64?

  /// Nil for another statement.
  init?(_ stored: StoredStatement) {
    let statement = stored.statement
    guard case .grant(let entitlement, let until, let reason) = statement.content else {
      return nil
    }
    seq = stored.seq
    (id, bundleId, token) = (statement.id, statement.bundleId, statement.token)
    (self.entitlement, self.until, self.reason) = (entitlement, until, reason)
    grantedAt = statement.at
  }

  /// Ends it, if a statement of the same app says so.
  mutating func end(by stored: StoredStatement) {
    guard stored.statement.content == .revocation(of: id), stored.statement.bundleId == bundleId,
      revokedBy == nil
    else { return }
    (revokedAt, revokedBy) = (stored.statement.at, stored.seq)
  }

  /// Whether a statement made or ended it.
  public func isSame(as statement: NewStatement) -> Bool {
    switch statement.content {
    case .grant(entitlement, until, reason): statement.bundleId == bundleId
    case .revocation(of: id): statement.bundleId == bundleId
    default: false
    }
  }

  /// What it gives.
  var access: GrantedAccess {
    let end = [until, revokedAt].compactMap { $0 }.min()
    return GrantedAccess(name: entitlement, bundleId: bundleId, from: grantedAt, until: end)
  }

  public var json: JSONValue {
    .object([
      ("object", .string("grant")), ("id", .string(id)), ("bundle_id", .string(bundleId)),
      ("entitlement", .string(entitlement)), ("granted_at", .integer(grantedAt)),
      ("until", .optional(until)), ("reason", .optional(reason)),
      ("granted_by", .string(token)), ("revoked_at", .optional(revokedAt)),
    ])
  }
}

/// What the owner says of a customer.
extension LedgerReader {
  /// What was granted to a customer, oldest first, ended grants included.
  ///
  /// - Parameter receivedThrough: the latest receive time, milliseconds since 1970.
  /// - Throws: `Failure.store` if the journal cannot be read.
  public func grants(
    of customer: CustomerName, _ environment: Environment, receivedThrough: Int64 = .max
  ) throws(Failure) -> [GrantDocument] {
    guard mayHaveStatements else { return [] }
    return try store { () throws(StoreError) in
      guard let mac = try journal.mac(of: customer) else { return [] }
      var grants: [GrantDocument] = []
      for item in try journal.statements(about: mac, receivedThrough: receivedThrough)
      where item.statement.environment == environment {
        if let grant = GrantDocument(item) { grants.append(grant) }
        for index in grants.indices { grants[index].end(by: item) }
      }
      return grants
    }
  }

  /// How many purchases more than one account has.
  ///
  /// - Throws: `Failure.store` if the journal cannot be read.
  public func sharedPurchaseCount() throws(Failure) -> Int64 {
    guard mayHaveStatements else { return 0 }
    return try store { () throws(StoreError) in try journal.sharedPurchaseCount() }
  }

  /// The accounts that have a purchase, as far as they are not forgotten: the first of them, and
  /// how many there are.
  ///
  /// - Throws: `Failure.store` if the journal cannot be read.
  func accounts(
    _ key: StreamKey, _ question: Question
  ) throws(Failure) -> (names: [String], count: Int) {
    guard mayHaveStatements else { return ([], 0) }
    return try store { () throws(StoreError) in
      let time = question.knownAt ?? .max
      let names = try journal.accounts(
        of: key, receivedThrough: time, limit: RowDocument.maximumAccounts)
      guard names.count == RowDocument.maximumAccounts else { return (names, names.count) }
      return (names, try journal.accountCount(of: key, receivedThrough: time))
    }
  }
}
