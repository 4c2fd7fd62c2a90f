public import AppStore
import Entitlements
public import Platform
public import Store
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
  /// The name of the token, or of the command.
  public let token: String
  /// The statement that ended it; nil if none did.
  private(set) var end: StoredStatement?
  /// The event that ended it.
  public var revokedBy: Int64? { end?.seq }

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
    guard stored.statement.endedGrant == id, stored.statement.bundleId == bundleId, end == nil
    else { return }
    end = stored
  }

  /// What it gives.
  var access: GrantedAccess {
    let end = [until, end?.statement.at].compactMap { $0 }.min()
    return GrantedAccess(name: entitlement, bundleId: bundleId, from: grantedAt, until: end)
  }

  public static let object = JSONObject<GrantDocument>(
    "Grant",
    [
      .type("grant"), JSONMember("id", .text("The id of the grant.")) { $0.id },
      JSONMember("bundle_id", .bundleId) { $0.bundleId },
      JSONMember("entitlement", .text("The name of the entitlement.")) { $0.entitlement },
      JSONMember("granted_at", .time()) { $0.grantedAt },
      JSONMember("until", .time("When it ends; null: never.")) { $0.until },
      JSONMember("reason", .text()) { $0.reason },
      JSONMember("granted_by", .text("The name of the token.")) { $0.token },
      JSONMember("revoked_at", .time("When it was ended; null if it was not.")) {
        $0.end?.statement.at
      },
      JSONMember("revoked_by", .text("The name of the token that ended it.")) {
        $0.end?.statement.token
      },
      JSONMember("revocation_reason", .text("Why it was ended.")) { $0.end?.statement.reason },
    ])

  public var json: JSONValue { Self.object.json(self) }
}

/// What the owner says of a customer.
extension LedgerReader {
  /// What was granted to a customer, oldest first, ended grants included.
  ///
  /// - Parameter receivedThrough: the latest receive time, milliseconds since 1970.
  /// - Throws: what SQLite reports.
  public func grants(
    of customer: CustomerName, _ environment: Environment, receivedThrough: Int64 = .max
  ) throws(LedgerError) -> [GrantDocument] {
    guard mayHaveStatements else { return [] }
    guard let mac = try journal.mac(of: customer) else { return [] }
    let all = try journal.statements(about: mac, receivedThrough: receivedThrough)
      .filter { $0.statement.environment == environment }
    var grants = all.compactMap { GrantDocument($0) }
    Self.end(&grants, by: all)
    return grants
  }

  /// The grant that an event made or ended; nil if it is of another customer.
  ///
  /// - Throws: what SQLite reports.
  public func grant(
    at seq: Int64, of customer: CustomerName
  ) throws(LedgerError) -> GrantDocument? {
    guard let mac = try journal.mac(of: customer),
      let said = try journal.statement(at: seq, about: mac),
      var grant = GrantDocument(try journal.grant(endedBy: said.statement) ?? said)
    else { return nil }
    let later = try journal.statements(about: mac, type: "GRANT_REVOKE", after: grant.seq)
    for end in grant.seq == seq ? later : [said] { grant.end(by: end) }
    return grant
  }

  /// A page of what was granted to a customer, oldest first, ended grants included. Reads the
  /// grants of the page, and all that were ended since.
  ///
  /// - Parameters:
  ///   - seq: the last grant of the page before; 0 for the first page.
  ///   - isShown: whether a grant may be shown.
  /// - Returns: the grants, and the last one's seq if there are more.
  /// - Throws: what SQLite reports.
  public func grants(
    of customer: CustomerName, _ environment: Environment, after seq: Int64, limit: Int,
    where isShown: (GrantDocument) -> Bool
  ) throws(LedgerError) -> (grants: [GrantDocument], next: Int64?) {
    guard mayHaveStatements else { return ([], nil) }
    guard let mac = try journal.mac(of: customer) else { return ([], nil) }
    var grants: [GrantDocument] = []
    var last = seq
    while grants.count <= limit {
      let found = try journal.statements(
        about: mac, type: "GRANT", after: last, limit: limit + 1)
      guard let end = found.last?.seq else { break }
      last = end
      grants += found.filter { $0.statement.environment == environment }
        .compactMap { GrantDocument($0) }.filter(isShown)
    }
    let hasMore = grants.count > limit
    grants = Array(grants.prefix(limit))
    let first = grants.first?.seq ?? last
    let ends = try journal.statements(about: mac, type: "GRANT_REVOKE", after: first)
    Self.end(&grants, by: ends.filter { $0.statement.environment == environment })
    return (grants, hasMore ? grants.last?.seq : nil)
  }

  private static func end(_ grants: inout [GrantDocument], by statements: [StoredStatement]) {
    let places = Dictionary(
      grants.indices.map { (grants[$0].id, $0) }, uniquingKeysWith: { one, _ in one })
    for item in statements {
      guard let place = item.statement.endedGrant.flatMap({ places[$0] }) else { continue }
      grants[place].end(by: item)
    }
  }

  /// How many purchases more than one account has.
  ///
  /// - Throws: what SQLite reports.
  public func sharedPurchaseCount() throws(LedgerError) -> Int64 {
    guard mayHaveStatements else { return 0 }
    return try journal.sharedPurchaseCount()
  }

  /// The accounts that have a purchase, as far as they are not forgotten: the first of them, and
  /// how many there are.
  ///
  /// - Throws: what SQLite reports.
  func accounts(
    _ key: StreamKey, _ question: Question
  ) throws(LedgerError) -> (names: [String], count: Int) {
    guard mayHaveStatements else { return ([], 0) }
    let time = question.knownAt ?? .max
    let names = try journal.accounts(
      of: key, receivedThrough: time, limit: RowDocument.maximumAccounts)
    guard names.count == RowDocument.maximumAccounts else { return (names, names.count) }
    return (names, try journal.accountCount(of: key, receivedThrough: time))
  }
}
