/// Refusals of what Apple signs: of its form, its proof and its admission.
extension RefusalEntry {
  /// Not in the form that was asked for, or not proven.
  static let signed: [RefusalEntry] = form + proof + certificates

  private static let asSent = "Pass it on byte by byte, as it came."
  private static let fromApple = "Only Apple can make another: take it from StoreKit again."

  private static let byImport =
    "Import the customer by one of his transaction ids: subledger import asks Apple for all."

  private static let form: [RefusalEntry] = [
    RefusalEntry(
      400, "json", .signed, "The body is not one JSON value in UTF-8 with distinct members.",
      asSent),
    RefusalEntry(
      400, "envelope", .signed,
      "The body is no JSON object with the members of this path, or has one that is unknown.",
      "subledger help http lists the members of each body."),
    RefusalEntry(
      400, "environment", .submissions,
      "The member environment is neither Production nor Sandbox."),
    RefusalEntry(
      400, "account", .submissions,
      "The member account is no text of 1 to 128 characters without control characters."),
    RefusalEntry(
      400, "jws_segments", .signed,
      "A JWS has three parts with dots between them; this text has not.", asSent),
    RefusalEntry(
      400, "jws_header", .signed, "The first part of the JWS is no JSON object.", asSent),
    RefusalEntry(
      400, "jws_base64url", .signed, "A part of the JWS is not base64url without padding.",
      asSent),
    RefusalEntry(400, "jws_alg_type", .signed, "The member alg of the JWS is no text.", asSent),
    RefusalEntry(
      400, "x5c_type", .signed, "The member x5c of the JWS is no list of texts.", asSent),
    RefusalEntry(
      400, "receipt_base64", .submissions, "The member receipt is not base64.",
      "Encode the file of the receipt once, in the standard alphabet, with padding."),
    RefusalEntry(
      400, "receipt_der", .submissions, "The receipt is not PKCS#7 in DER, as the App Store signs.",
      "Send the bytes of the file at appStoreReceiptURL, all of them."),
    RefusalEntry(
      400, "receipt_too_long", .submissions, "The receipt has more than 2 MiB.", byImport),
    RefusalEntry(
      400, "receipt_records", .submissions, "The receipt has more than 5,000 purchases.", byImport),
    RefusalEntry(
      400, "v1_password", .notifications,
      "The body has a member password below its top level, where it would be stored.", asSent),
  ]

  private static let proof: [RefusalEntry] =
    [
      RefusalEntry(
        401, "signature", .signed, "The signature does not match what is signed.", asSent),
      RefusalEntry(
        401, "v1_secret", .notifications,
        "The password is no shared secret of the configuration, which version 1 needs.",
        "If Apple sent it, put the shared secret of App Store Connect into v1SharedSecretFile.",
        isOwnerFault: true),
      RefusalEntry(
        401, "xcode_signature", .submissions, "Xcode signed this for a local test, Apple did not.",
        "Test with a Sandbox account: what Xcode signs proves nothing."),
      RefusalEntry(
        401, "chain_root", .signed, "It is signed under a root that is not trusted.",
        "If Apple sent it, this version is too old to know its root. If your test server did, add "
          + "its root to trustRoots.", isOwnerFault: true),
      RefusalEntry(
        401, "chain_path", .signed,
        "Its certificates lead to no trusted root, though one has that name.",
        "If your test server sent it, trustRoots has an older root of it: replace that.",
        isOwnerFault: true),
      RefusalEntry(
        401, "chain_dates", .signed,
        "Its certificates were not valid at the time when it says that it was signed.",
        "Of a receipt, take a new one: let the app refresh it. Where a JWS says no time, this "
          + "machine's clock counts: check that."),
      RefusalEntry(
        401, "receipt_signer", .submissions,
        "The signer of the receipt is not in its certificates.",
        fromApple),
      RefusalEntry(
        401, "receipt_algorithm", .submissions,
        "The receipt is signed by a method that the App Store does not use.", fromApple),
      RefusalEntry(401, "jws_alg", .signed, "The JWS is not signed by ES256.", asSent),
    ]
    + ["crit", "b64", "zip", "enc", "epk", "jwk", "jku", "x5u"].map { name in
      RefusalEntry(
        401, "jws_\(name)", .signed,
        "The header of the JWS has \(name), which Apple does not use.", asSent)
    }

  /// Codes of a certificate that Apple's do not get, with what is wrong.
  private static let certificates = [
    ("x5c_missing", "The JWS has no certificates."),
    ("x5c_length", "The JWS has not three certificates."),
    ("x5c_base64", "A certificate of the JWS is not base64."),
    ("certificate_dates", "A certificate has no valid dates."),
    ("certificate_der", "A certificate is not X.509 in DER."),
    ("certificate_extensions", "A certificate has an extension twice."),
    ("certificate_invalid", "A certificate has extensions that contradict each other."),
    ("certificate_key", "A certificate has a key of an unusual form."),
    ("certificate_serial", "A certificate has no valid serial number."),
    ("certificate_signature", "A certificate is signed by an unusual method."),
    ("certificate_version", "A certificate is not of version 3."),
    ("intermediate_authority", "The second certificate may not sign others."),
    ("intermediate_key", "The second certificate has a weak key."),
    ("intermediate_key_usage", "The key of the second certificate may not sign certificates."),
    ("intermediate_marker", "The second certificate is not marked as Apple's."),
    ("leaf_authority", "The first certificate is that of an authority."),
    ("leaf_key", "The first certificate has another kind of key."),
    ("leaf_key_usage", "The key of the first certificate may not sign."),
    ("leaf_marker", "The first certificate is not marked as the App Store's."),
    ("leaf_purpose", "The first certificate is for another purpose."),
  ].map { RefusalEntry(401, $0, .signed, $1, "Apple did not sign this.") }

  // MARK: Genuine, not admitted

  private static let newShape =
    "Apple may have a new form: install a newer version, then subledger quarantine admit."

  static let admission: [RefusalEntry] =
    [
      ("payload_json", "The payload is not JSON."),
      ("payload_object", "The payload is no JSON object."),
      ("payload_content", "The payload has not exactly one object with its content."),
      ("notification_type", "The payload has no notification type."),
      ("notification_uuid", "The payload has no notificationUUID."),
      ("external_purchase_id", "The payload has no externalPurchaseId."),
      ("environment", "The notification names no environment."),
      ("bundle_id", "The notification names no app."),
      ("date", "A date in it cannot be read."),
      ("nul_in_identifier", "An identifier in it has the character NUL."),
      ("nested_jws", "A JWS inside the notification is no text."),
      ("nested_payload", "The payload of a JWS inside the notification has another form."),
      ("nested_bundle_id", "A JWS inside the notification is of another app."),
      ("nested_environment", "A JWS inside the notification is of another environment."),
      ("nested_app_apple_id", "A JWS inside the notification has another appAppleId."),
      (
        "nested_original_transaction_id",
        "Transaction and renewal information of the notification are of two purchases."
      ),
      ("receipt_of_another_app", "The receipt in the notification is of another app."),
    ].map { RefusalEntry(422, $0, .notifications, $1, newShape) }
    + [
      ("receipt_attributes", "The receipt has attributes of another form."),
      ("receipt_records", "The receipt has more purchases or attributes than are read."),
      ("receipt_type", "The receipt is of an environment that is not known."),
      ("original_transaction_id", "It names no original transaction id."),
      ("signed_date", "It does not say when it was signed."),
    ].map { RefusalEntry(422, $0, .signed, $1, newShape) }
    + [
      RefusalEntry(
        422, "no_app", .notifications,
        "Its content has a name that is not known, and names no app with its environment.",
        "If the app is yours: subledger quarantine admit --app ID --environment E.",
        isOwnerFault: true),
      RefusalEntry(
        422, "other_app", .signed, "It is of an app that is not configured.",
        "If the app is yours, add it to apps.", isOwnerFault: true),
      RefusalEntry(
        422, "other_app_apple_id", .notifications,
        "It is of a configured app, but its appAppleId is another.",
        "If the app is yours, correct its appAppleId in apps.", isOwnerFault: true),
      RefusalEntry(
        422, "other_environment", .signed,
        "It is of an environment that the app is not configured for.",
        "If it is wanted, add the environment to the app's environments.", isOwnerFault: true),
      RefusalEntry(
        422, "payload_shape", .submissions, "It is no transaction, or one of another form.",
        "Send jwsRepresentation of a StoreKit 2 transaction."),
      RefusalEntry(
        422, "no_transaction", .submissions,
        "The renewal information is of another purchase than the transaction.",
        "Send those of one purchase."),
      RefusalEntry(
        422, "wrong_app", .submissions, "It is of an app that is not configured.",
        "Add the app to apps."),
      RefusalEntry(
        422, "wrong_environment", .submissions,
        "It is of another environment than the request expects.",
        "Send \"environment\":\"Sandbox\" where a sandbox purchase is expected; anybody can make "
          + "those."),
      RefusalEntry(
        422, "conflict", .submissions, "The journal has another content under the same id."),
      RefusalEntry(422, "skipped", .submissions, "A part of the same request was refused."),
    ]
}
