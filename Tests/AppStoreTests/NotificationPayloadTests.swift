import AppStore
import StrictJSON
import Testing

/// Decoding of V2 notifications, and the code for each reason why one is refused.
@Suite struct NotificationPayloadTests {
  private static let data: Members = [
    "bundleId": .string("com.example.app"), "appAppleId": .integer(123_456_789),
    "environment": .string("Sandbox"), "signedTransactionInfo": .string("t.t.t"),
    "signedRenewalInfo": .string("r.r.r"), "status": .integer(4),
  ]
  private static let payload: Members = [
    "notificationType": .string("DID_FAIL_TO_RENEW"), "subtype": .string("GRACE_PERIOD"),
    "notificationUUID": .string("0A1B2C3D-4e5f-4789-8abc-def012345678"),
    "version": .string("2.0"), "signedDate": .integer(1_767_225_600_123), "data": data.value,
  ]

  private func decode(_ members: Members) throws -> NotificationPayload {
    try NotificationPayload(members.parsed())
  }

  @Test func `every member is decoded`() throws {
    let payload = try decode(Self.payload)
    #expect(payload.notificationType == "DID_FAIL_TO_RENEW" && payload.subtype == "GRACE_PERIOD")
    #expect(payload.notificationUUID.description == "0a1b2c3d-4e5f-4789-8abc-def012345678")
    #expect(payload.version == "2.0" && payload.signedDate == 1_767_225_600_123)
    #expect(payload.bundleId == "com.example.app" && payload.appAppleId == 123_456_789)
    #expect(payload.environment.rawValue == "Sandbox")
    guard case .data(let transaction, let renewal, let status) = payload.content else {
      Issue.record("not data")
      return
    }
    #expect(transaction.map { Array($0) } == Array("t.t.t".utf8))
    #expect(renewal.map { Array($0) } == Array("r.r.r".utf8))
    #expect(status == 4)
  }

  @Test func `unknown members, types and environments are accepted`() throws {
    let data = Self.data.with("environment", .string("Xcode")).with("new", .array([.null]))
    let members = Self.payload.with("notificationType", .string("NEW_TYPE"))
      .with("data", data.value).with("new", .object([("data", .integer(1))]))
    let payload = try decode(members)
    #expect(payload.notificationType == "NEW_TYPE" && payload.environment.rawValue == "Xcode")
  }

  @Test func `optional members of another kind count as absent`() throws {
    var data = Self.data.with("status", .string("4")).with("appAppleId", .string("123456789"))
    data["signedTransactionInfo"] = nil
    data["signedRenewalInfo"] = nil
    let members = Self.payload.with("data", data.value).with("subtype", .string(""))
      .with("version", .integer(2))
    let payload = try decode(members)
    #expect(payload.subtype == nil && payload.version == nil && payload.appAppleId == nil)
    guard case .data(nil, nil, nil) = payload.content else {
      Issue.record("not without its optional members")
      return
    }
  }

  @Test(arguments: [
    ("notificationType", "notification_type"), ("notificationUUID", "notification_uuid"),
    ("signedDate", "signed_date"), ("data", "payload_content"),
  ])
  func `a required member that is missing or of another kind is refused`(
    _ name: String, _ code: String
  ) {
    for value in [nil, .null, .boolean(true), .string("")] as [JSONValue?] {
      #expect(throws: PayloadFault(code), "\(value?.text ?? "missing")") {
        try decode(Self.payload.with(name, value))
      }
    }
  }

  @Test(arguments: [("bundleId", "bundle_id"), ("environment", "environment")])
  func `a required member of data that is missing or of another kind is refused`(
    _ name: String, _ code: String
  ) {
    for value in [nil, .null, .integer(1), .string("")] as [JSONValue?] {
      #expect(throws: PayloadFault(code), "\(value?.text ?? "missing")") {
        try decode(Self.payload.with("data", Self.data.with(name, value).value))
      }
    }
  }

  @Test func `a payload that is not an object is refused`() throws {
    let root = try JSONDocument(parsing: Array("[]".utf8)).root
    #expect(throws: PayloadFault("payload_object")) { try NotificationPayload(root) }
  }

  @Test func `a payload with two content objects is refused`() {
    #expect(throws: PayloadFault("payload_content")) {
      try decode(Self.payload.with("summary", Self.data.value))
    }
  }

  @Test(arguments: [JSONValue.integer(1), .array([]), .string("a.b\nc")])
  func `a nested JWS that is not a plain string is refused`(_ value: JSONValue) {
    for name in ["signedTransactionInfo", "signedRenewalInfo"] {
      #expect(throws: PayloadFault("nested_jws")) {
        try decode(Self.payload.with("data", Self.data.with(name, value).value))
      }
    }
  }

  @Test func `NUL in an identifier is refused`() {
    for name in ["notificationType", "notificationUUID"] {
      #expect(throws: PayloadFault.nul) {
        try decode(Self.payload.with(name, .string("A\0")))
      }
    }
    #expect(throws: PayloadFault.nul) {
      try decode(Self.payload.with("data", Self.data.with("bundleId", .string("A\0")).value))
    }
  }

  @Test func `appData and summary are told apart from data`() throws {
    var members = Self.payload.with("data", nil)
    members["appData"] = Self.data.with("signedAppTransactionInfo", .string("a.a.a")).value
    guard case .appData(let transaction) = try decode(members).content else {
      Issue.record("not appData")
      return
    }
    #expect(transaction.map { Array($0) } == Array("a.a.a".utf8))
    members = members.with("appData", nil).with("summary", Self.data.value)
    guard case .summary = try decode(members).content else {
      Issue.record("not summary")
      return
    }
  }

  @Test(arguments: [("SANDBOX_1", "Sandbox"), ("1", "Production")])
  func `the environment of an external purchase is the prefix of its identifier`(
    _ identifier: String, _ environment: String
  ) throws {
    let token = Self.data.with("environment", nil)
      .with("externalPurchaseId", .string(identifier))
    let members = Self.payload.with("data", nil)
    let payload = try decode(members.with("externalPurchaseToken", token.value))
    guard case .externalPurchaseToken = payload.content else {
      Issue.record("not an external purchase token")
      return
    }
    #expect(payload.environment.rawValue == environment)
    #expect(throws: PayloadFault("external_purchase_id")) {
      try decode(members.with("externalPurchaseToken", Self.data.value))
    }
  }
}
