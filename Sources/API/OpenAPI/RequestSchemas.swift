import StrictJSON

/// The bodies of requests whose members Apple defines, or that hand over what Apple signed.
extension Schemas {
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
