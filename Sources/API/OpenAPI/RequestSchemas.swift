import AppStore
import Entitlements
import Queries
import StrictJSON

/// The bodies of requests.
extension Schemas {
  static let customerQuery = JSONSchema.open(
    [
      (
        "ids",
        .list(.text("An id that you know the customer by."), count: 1...maximumIds)
      ),
      (
        "by",
        .oneOf(
          LedgerReader.CustomerQuestion.IdKind.allCases.map(\.rawValue),
          "What the ids are; app_account_token if absent.")
      ),
      ("environment", .oneOf(Parameter.environments, "Production if absent.")),
      ("bundle_id", .text("Only this app.")), ("as_of", .moment), ("known_at", .moment),
      ("min_seq", Parameter.minSeq.schema),
      ("after", .text("The next_page of an earlier answer to the same query.")),
    ], required: ["ids"], "Which customers to answer for.")

  private static let maximumIds = Int64(CustomerRoutes.maximumIds)

  static let claim = JSONSchema.open(
    [
      ("originalTransactionId", Parameter.id.schema),
      ("environment", .oneOf(Parameter.environments, "Production if left out.")),
      ("bundleId", .text("The app; needed only if the token covers several.")),
    ], required: ["originalTransactionId"], "A purchase without Apple's proof.")

  static let newGrant = JSONSchema.open(
    [
      ("entitlement", .text("A name of the configuration.")), ("until", .moment),
      ("reason", .text("For people, at most 500 characters. It stays in the journal for ever.")),
    ], required: ["entitlement"], "What is granted; without `until`, for ever.")

  static let signedTransaction = JSONSchema.open(
    [
      ("signedTransaction", .text("The JWS of a StoreKit 2 transaction, in compact form.")),
      ("signedRenewalInfo", .text("The JWS of its renewal information.")),
      ("environment", .oneOf(Parameter.environments, "What is expected; Production if left out.")),
      ("account", .text("Your own id of the user, who has the purchase from now on.")),
    ], required: ["signedTransaction"], "A transaction of StoreKit 2, as the app received it.")

  static let appReceipt = JSONSchema.open(
    [
      ("receipt", .text("The receipt in base64: PKCS#7 in DER, 2 MiB at most.")),
      ("environment", .oneOf(Parameter.environments, "What is expected; Production if left out.")),
    ], required: ["receipt"], "A receipt of the app, with 5,000 in-app records at most.")

  static let notificationV2 = JSONSchema.open(
    [("signedPayload", .text("A JWS in compact form that contains its certificates."))],
    required: ["signedPayload"], "App Store Server Notifications, version 2.")

  static let notificationV1 = JSONSchema.open(
    [
      ("notification_type", .text()), ("password", .text("The app's shared secret.")),
      ("unified_receipt", .open([], required: [], "")),
    ], required: ["notification_type", "password"],
    "App Store Server Notifications, version 1, of an app whose secret is configured.")
}
