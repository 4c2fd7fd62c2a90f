import AppStore
import Platform
package import Store
package import StrictJSON

/// What an event says that neither its columns nor its customer's row and purchases have: Apple's
/// members by their names, `transaction.storefrontId`. What Apple does not document has a name
/// alone, as its value may be of any size.
package struct AppleMembers {
  /// In the order of the text.
  package private(set) var others: [(name: String, value: JSONValue)] = []
  /// The names of those that this version does not know, as they are printed.
  package private(set) var unknown: Set<String> = []

  /// - Parameter payload: of a V2 notification, or of evidence that is a JWS; others have none.
  package init(_ payload: JournaledPayload) {
    self.init(DecodedPayload.json(payload), payload.source)
  }

  init(_ payload: JSONValue, _ source: EventSource) {
    switch source.evidenceJWS?.payload {
    case .transaction: add(payload, "transaction")
    case .renewalInfo: add(payload, "renewalInfo")
    case nil where source == .v2: add(payload, "")
    case nil: break
    }
  }

  private mutating func add(_ value: JSONValue, _ path: String) {
    guard case .object(let members) = value else { return }
    for (name, value) in members where !(Self.app.contains(name) && !path.isEmpty) {
      let inner = Self.paths[name] ?? name
      guard Self.read[path]?.contains(name) == true else {
        let shown = path.isEmpty ? name : "\(path).\(name)"
        if Self.named.contains(name) { others.append((shown, value)) } else { note(shown) }
        continue
      }
      if Self.read[inner] != nil { add(value, inner) }
    }
  }

  private mutating func note(_ shown: String) {
    unknown.insert(VisibleText.of(String(decoding: shown.utf8.prefix(Self.longest), as: UTF8.self)))
  }

  /// The bytes of a name that are printed.
  private static let longest = 64

  // MARK: Apple's tables

  private static let paths = [
    "signedTransactionInfo": "transaction", "signedRenewalInfo": "renewalInfo",
    "signedAppTransactionInfo": "appTransaction",
  ]

  private static func names(_ text: String...) -> Set<String> {
    Set(text.flatMap { $0.split(separator: " ").map(String.init) })
  }

  private static let app = names("bundleId appAppleId environment")

  /// What is read, by object: elsewhere in this program.
  private static let read = [
    "": names(
      "notificationType subtype notificationUUID version signedDate data appData summary",
      "externalPurchaseToken unclaimInfo"),
    "data": names(
      "status signedTransactionInfo signedRenewalInfo consumptionRequestReason"),
    "appData": ["signedAppTransactionInfo"], "externalPurchaseToken": ["externalPurchaseId"],
    "summary": [], "unclaimInfo": ["originalTransactionId"],
    "transaction": Set(Transaction.memberNames).subtracting(["advancedCommerceInfo"]),
    "renewalInfo": Set(RenewalInfo.memberNames),
    "commitmentInfo": names(
      "billingPeriodNumber totalBillingPeriods commitmentExpiresDate commitmentAutoRenewStatus"),
    "multiSeatInfo": names("priceTiers renewalPriceTiers revokedSeatQuantity"),
    "appTransaction": names("receiptType appTransactionId receiptCreationDate"),
  ]

  /// What Apple's pages name beside that; advancedCommerceInfo as a whole, of which the
  /// refunds are read. Sources:
  /// developer.apple.com/documentation/appstoreservernotifications and appstoreserverapi, with
  /// version 1.23 of October 2026.
  private static let named = names(
    "bundleVersion requestIdentifier productId storefrontCountryCodes succeededCount failedCount",
    "tokenCreationDate tokenType tokenExpirationDate unclaimSeatIds storefrontId",
    "bundleTransactionId bundleOriginalTransactionId bundleProductId bundleSubscriptionGroupId",
    "deviceVerification deviceVerificationNonce recentSubscriptionStartDate willUnbundle",
    "renewalBillingPlanType commitmentPrice commitmentAutoRenewProductId commitmentRenewalDate",
    "commitmentRenewalPrice commitmentRenewalBillingPlanType invitationManagement",
    "applicationVersion versionExternalIdentifier originalPurchaseDate originalApplicationVersion",
    "preorderDate originalPlatform storeType revocationDate advancedCommerceInfo")
}
