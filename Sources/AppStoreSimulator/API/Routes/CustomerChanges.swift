import HTTPServer
import Platform
import StrictJSON

/// The calls that change something of one customer at Apple. They are checked and answered. Only a
/// second extension remembers the first, and a refund depends on what was told: else the customers'
/// lives go on as they were made.
extension APIRoutes {
  /// Finish Transaction.
  ///
  /// - Throws: as Get Transaction Info.
  func finish(_ id: String, _ facts: AppFacts) throws(APIError) -> HTTPResponse {
    _ = try purchase(id, facts)
    return HTTPResponse(status: 200)
  }

  /// - Throws: `APIError.appTransactionIdNotSupported`, `.invalidTransactionId`,
  ///   `.transactionIdNotFound`.
  private func purchase(_ id: String, _ facts: AppFacts) throws(APIError) -> JSONValue {
    let account = try account(id, facts)
    if id == account.appTransactionId { throw .appTransactionIdNotSupported }
    guard let purchase = account.purchases.first(where: { $0.id == id }) else {
      throw .transactionIdNotFound
    }
    return purchase.transaction
  }

  private static func isShared(_ transaction: JSONValue) -> Bool {
    transaction.text("inAppOwnershipType") == "FAMILY_SHARED"
  }

  // MARK: Consumption

  /// Send Consumption Information, version 2. What was told is kept, and counts when the App Store
  /// decides about a refund. Version 1 is for the Advanced Commerce API and does not exist here.
  ///
  /// - Throws: as Get Transaction Info, and for a member that Apple refuses by a number.
  func consumption(
    _ id: String, _ body: [UInt8], _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse {
    // Apple: an error without a code is a malformed request.
    guard let root = try? Self.object(body) else { return .unnumbered("Bad request.") }
    let transaction = try purchase(id, facts)
    do throws(RefundAnswer.Refusal) {
      facts.tell(try RefundAnswer(root, about: transaction, at: moment), about: id)
      return HTTPResponse(status: 202)
    } catch {
      switch error {
      case .numbered(let error): throw error
      case .named(let name): return .unnumbered(name)
      }
    }
  }

  /// The books of the refund requests, which Apple does not have: all of them, and how many answers
  /// came, also about purchases that nobody asked about.
  func refundRequests(_ facts: AppFacts) -> HTTPResponse {
    .json([
      ("refundRequests", .array(facts.refundRequests(at: moment).map(\.json))),
      ("answers", .integer(Int64(facts.fleet.answers.values.reduce(0) { $0 + $1.count }))),
    ])
  }

  // MARK: App account token

  func accountToken(
    _ id: String, _ root: JSONElement, _ facts: AppFacts
  ) throws(APIError) -> HTTPResponse {
    let account = try originalAccount(id, facts)
    if id == account.appTransactionId { throw .appTransactionIdNotSupported }
    let purchase = account.purchases.first {
      $0.transaction.text("originalTransactionId") == id
    }
    guard let purchase else { throw .notOriginalTransactionId }
    if Self.isShared(purchase.transaction) { throw .familyNotSupported }
    guard root["appAccountToken"]?.string.map(Self.isUUID) == true else {
      throw .invalidAccountToken
    }
    return HTTPResponse(status: 200)
  }

  static func isUUID(_ text: String) -> Bool {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && groups.joined().utf8.allSatisfy {
        0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 | 0x20
      }
  }

  // MARK: Extension

  /// Extend a Subscription Renewal Date. The same identifier has the same answer; the third
  /// extension of a subscription within a year is refused.
  func extend(
    _ id: String, _ root: JSONElement, _ facts: inout AppFacts
  ) throws(APIError) -> HTTPResponse {
    let days = try Self.days(root)
    guard let identifier = root["requestIdentifier"]?.string, 1...128 ~= identifier.count else {
      throw .invalidRequestIdentifier
    }
    let account = try originalAccount(id, facts)
    guard let own = account.subscriptions.first(where: { $0.originalId == id }) else {
      throw .originalIdNotFound
    }
    if Self.isShared(own.transaction) { throw .familyNotExtended }
    guard own.status(at: moment) == 1, let end = own.transaction.number("expiresDate") else {
      throw .notExtended
    }
    guard isExtensible(id, identifier, facts) else { throw .extendedTooOften }
    if behaviour.extends { facts.extensions[id, default: [:]][identifier] = moment }
    return .json([
      ("originalTransactionId", .string(id)),
      ("webOrderLineItemId", .optional(own.transaction.text("webOrderLineItemId"))),
      ("success", .boolean(behaviour.extends)),
      ("effectiveDate", .integer(end + days * CivilTime.day)),
    ])
  }

  /// - Throws: `APIError.invalidDays`, `.invalidReason`.
  static func days(_ root: JSONElement) throws(APIError) -> Int64 {
    guard let days = root["extendByDays"]?.integer, 1...90 ~= days else { throw .invalidDays }
    guard let reason = root["extendReasonCode"]?.integer, 0...3 ~= reason else {
      throw .invalidReason
    }
    return days
  }

  /// Whether a subscription was extended less than twice in a year, without the same request.
  func isExtensible(_ id: String, _ identifier: String, _ facts: AppFacts) -> Bool {
    let extended = facts.extensions[id] ?? [:]
    let year = moment - 365 * CivilTime.day
    return extended[identifier] != nil || extended.values.count(where: { $0 > year }) < 2
  }

  /// The customer with an original transaction id.
  private func originalAccount(
    _ id: String, _ facts: AppFacts
  ) throws(APIError) -> CustomerAccount {
    do throws(APIError) { return try account(id, facts) } catch {
      throw error == .transactionIdNotFound ? .originalIdNotFound : error
    }
  }
}
