import AppStore
import Ledger
import StrictJSON
import Support

/// What Apple says of one subscription, as a notification or as an answer. Days count from
/// 2026-01-01.
enum EvidenceFact {
  struct Period {
    var id = "A"
    var product = "basic"
    var days = 0..<30
    var reason = "PURCHASE"
    var revokedOn: Int?
    var isUpgraded = false
    var environment = "Production"
  }

  struct Renewal {
    var isOn = true
    var product = "basic"
    var isInRetry: Bool?
    var graceUntil: Int?
  }

  case notification(
    String, String? = nil, on: Int, status: Int64 = 1, Period = Period(), Renewal = Renewal())
  case transaction(Period = Period(), on: Int)
  case renewal(Renewal = Renewal(), on: Int)

  static let original = "1000"

  static func time(_ day: Int) -> Int64 { Sample.start + Int64(day) * Sample.day }

  var day: Int {
    switch self {
    case .notification(_, _, let day, _, _, _), .transaction(_, let day), .renewal(_, let day): day
    }
  }

  /// Tells it to a ledger, received on the day it was signed.
  @discardableResult
  func tell(_ ledger: TestLedger, expecting environment: Environment = .production) throws
    -> TestLedger.Answer
  {
    let (source, signed) = try signed()
    guard let source else { return try ledger.ingest(signed, at: Self.time(day)) }
    return ledger.ingest(evidence: signed, source, of: environment, at: Self.time(day))
  }

  /// Proves it without a ledger.
  func received(by receiver: Receiver) throws -> Receiver.Received {
    let (source, signed) = try signed()
    guard let source else { return try receiver.receive(body: signed, at: Self.time(day)) }
    let origin = Receiver.EvidenceOrigin(bundleId: TestLedger.bundleId, environment: .production)
    return try receiver.receive(evidence: signed[...], source, from: origin, at: Self.time(day))
  }

  /// A JWS and its source, or the body of a notification.
  private func signed() throws -> (EventSource?, [UInt8]) {
    switch self {
    case .notification(let type, let subtype, _, let status, let period, let renewal):
      (nil, try SharedAuthority.sign(notification(type, subtype, status, period, renewal)))
    case .transaction(let period, _):
      ("transaction", try SharedAuthority.sign(payload: payload(period)))
    case .renewal(let renewal, _):
      ("renewal", try SharedAuthority.sign(payload: payload(renewal)))
    }
  }

  private func notification(
    _ type: String, _ subtype: String?, _ status: Int64, _ period: Period, _ renewal: Renewal
  ) -> JSONValue {
    let data: [(String, JSONValue)] = [
      ("bundleId", .string(TestLedger.bundleId)), ("environment", .string("Production")),
      ("appAppleId", .integer(TestLedger.appAppleId)), ("status", .integer(status)),
      ("transaction", payload(period)), ("renewalInfo", payload(renewal)),
    ]
    // One notification for each day and type.
    let number = day * 100 + type.utf8.count
    return .object(
      [
        ("notificationType", .string(type)), ("notificationUUID", .string(Sample.uuid(number))),
        ("version", .string("2.0")), ("signedDate", .integer(Self.time(day))),
        ("data", .object(data)),
      ] + (subtype.map { [("subtype", .string($0))] } ?? []))
  }

  private func payload(_ period: Period) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("transactionId", .string(Self.original + period.id)),
      ("originalTransactionId", .string(Self.original)),
      ("bundleId", .string(TestLedger.bundleId)), ("productId", .string(period.product)),
      ("purchaseDate", .integer(Self.time(period.days.lowerBound))),
      ("expiresDate", .integer(Self.time(period.days.upperBound))),
      ("type", .string("Auto-Renewable Subscription")),
      ("inAppOwnershipType", .string("PURCHASED")),
      ("transactionReason", .string(period.reason)),
      ("environment", .string(period.environment)), ("signedDate", .integer(Self.time(day))),
    ]
    if let day = period.revokedOn { members.append(("revocationDate", .integer(Self.time(day)))) }
    if period.isUpgraded { members.append(("isUpgraded", .boolean(true))) }
    return .object(members)
  }

  private func payload(_ renewal: Renewal) -> JSONValue {
    var members: [(String, JSONValue)] = [
      ("originalTransactionId", .string(Self.original)), ("productId", .string("basic")),
      ("autoRenewProductId", .string(renewal.product)),
      ("autoRenewStatus", .integer(renewal.isOn ? 1 : 0)),
      ("environment", .string("Production")), ("signedDate", .integer(Self.time(day))),
    ]
    if let isInRetry = renewal.isInRetry {
      members.append(("isInBillingRetryPeriod", .boolean(isInRetry)))
    }
    if let day = renewal.graceUntil {
      members.append(("gracePeriodExpiresDate", .integer(Self.time(day))))
    }
    return .object(members)
  }
}
