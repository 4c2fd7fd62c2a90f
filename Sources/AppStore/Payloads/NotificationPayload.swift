public import StrictJSON

/// Apple's responseBodyV2DecodedPayload, as far as admission and the fold read it.
///
/// Source: developer.apple.com/documentation/appstoreservernotifications. Types, subtypes and codes
/// stay as Apple wrote them: an unknown one is normal, never an error. Members that are not read
/// here stay in the journaled body.
public struct NotificationPayload: Sendable {
  /// The app and environment that something was filed for.
  public typealias Filed = (bundleId: String, environment: Environment)

  /// The one of four objects that a payload carries. Nested JWS are not proven yet.
  public enum Content: Sendable {
    /// The transaction that the event is about and the renewal information, each a nested JWS, and
    /// the subscription's status, 1 to 5.
    case data(transaction: ArraySlice<UInt8>?, renewal: ArraySlice<UInt8>?, status: Int64?)
    case appData(appTransaction: ArraySlice<UInt8>?)
    case summary
    case externalPurchaseToken
    /// One of a name that is not known, and the original transaction id that it names.
    case other(originalTransactionId: String?)
  }

  public let notificationType: String
  public let subtype: String?
  public let notificationUUID: NotificationUUID
  public let version: String?
  /// When Apple signed, in milliseconds since 1970; equal in every retry.
  public let signedDate: Int64
  /// Nil of unknown content that names its app by the appAppleId alone.
  public let bundleId: String?
  public let appAppleId: Int64?
  public let environment: Environment
  public let content: Content
  /// Why the customer asks for a refund.
  public let consumptionRequestReason: String?

  /// Reads a proven payload.
  ///
  /// - Parameter filed: what counts where content of an unknown name names no app.
  /// - Throws: `PayloadFault` if a required member is missing or of another kind, if there is not
  ///   exactly one content object, or for NUL in an identifier.
  public init(_ root: JSONElement, filed: Filed? = nil) throws(PayloadFault) {
    guard root.kind == .object else { throw PayloadFault("payload_object") }
    let members = Members(root)
    guard let type = try members.notificationType?.identifier() else {
      throw PayloadFault("notification_type")
    }
    notificationType = type
    subtype = members.subtype?.filledText
    version = members.version?.string
    guard let identifier = try members.notificationUUID?.identifier(),
      let uuid = NotificationUUID(identifier)
    else { throw PayloadFault("notification_uuid") }
    notificationUUID = uuid
    guard let date = members.signedDate?.integer else { throw PayloadFault("signed_date") }
    signedDate = date
    guard members.contents > 0 else {
      let (object, app) = try Self.unknown(root, filed)
      (bundleId, environment, consumptionRequestReason) = (app.bundleId, app.environment, nil)
      appAppleId = object["appAppleId"]?.integer
      let isNamed = filed == nil || Self.namesApp(object)
      content = .other(
        originalTransactionId: isNamed ? try object.identifier("originalTransactionId") : nil)
      return
    }
    guard let (name, object) = members.content, object.kind == .object, members.contents == 1 else {
      throw PayloadFault("payload_content")
    }
    consumptionRequestReason = object["consumptionRequestReason"]?.filledText
    bundleId = try object.text("bundleId", required: "bundle_id")
    appAppleId = object["appAppleId"]?.integer
    environment = try Self.environment(name, object)
    content = try Self.content(name, object)
  }

  /// The members that are read, found in one pass over the object.
  private struct Members {
    var notificationType: JSONElement?
    var subtype: JSONElement?
    var version: JSONElement?
    var notificationUUID: JSONElement?
    var signedDate: JSONElement?
    /// The last of the content objects, and the number of them.
    var content: (String, JSONElement)?
    var contents = 0

    private static let texts = [
      "notificationType", "subtype", "version", "notificationUUID", "signedDate",
      "data", "appData", "summary", "externalPurchaseToken",
    ]
    private static let names = JSONNames(texts)

    init(_ root: JSONElement) {
      root.forEachMember(in: Self.names) { index, value in
        switch index {
        case 0: notificationType = value
        case 1: subtype = value
        case 2: version = value
        case 3: notificationUUID = value
        case 4: signedDate = value
        default:
          guard value.kind != .null else { return }
          content = (Self.texts[index], value)
          contents += 1
        }
      }
    }
  }

  /// The content of a payload that has none of a known name; nil if it has no object at all.
  public static func unknownContent(_ root: JSONElement) -> JSONElement? {
    let objects = root.members.map(\.value).filter { $0.kind == .object }
    return objects.first(where: namesApp) ?? objects.first
  }

  /// Whether content of an unknown name names its app, and the environment.
  private static func namesApp(_ object: JSONElement) -> Bool {
    (object["bundleId"]?.filledText != nil || object["appAppleId"]?.integer != nil)
      && object["environment"]?.filledText != nil
  }

  private static func unknown(
    _ root: JSONElement, _ filed: Filed?
  ) throws(PayloadFault) -> (JSONElement, (bundleId: String?, environment: Environment)) {
    guard let object = unknownContent(root) else { throw PayloadFault("payload_content") }
    let named = (try object.identifier("bundleId"), try object.identifier("environment"))
    if namesApp(object), let environment = named.1 {
      return (object, (named.0, Environment(rawValue: environment)))
    }
    guard let filed, (named.0 ?? filed.bundleId) == filed.bundleId,
      (named.1 ?? filed.environment.rawValue) == filed.environment.rawValue
    else { throw PayloadFault("no_app") }
    return (object, filed)
  }

  /// An externalPurchaseToken has no environment; in the sandbox its identifier has a prefix.
  private static func environment(
    _ name: String, _ object: JSONElement
  ) throws(PayloadFault) -> Environment {
    guard name == "externalPurchaseToken" else {
      return Environment(rawValue: try object.text("environment", required: "environment"))
    }
    let identifier = try object.text("externalPurchaseId", required: "external_purchase_id")
    return identifier.hasPrefix("SANDBOX") ? .sandbox : .production
  }

  private static func content(
    _ name: String, _ object: JSONElement
  ) throws(PayloadFault) -> Content {
    switch name {
    case "data":
      .data(
        transaction: try object.nested("signedTransactionInfo"),
        renewal: try object.nested("signedRenewalInfo"), status: object["status"]?.integer)
    case "appData": .appData(appTransaction: try object.nested("signedAppTransactionInfo"))
    case "summary": .summary
    default: .externalPurchaseToken
    }
  }
}

/// Why a proven payload cannot be recorded as an event. The notification goes into quarantine
/// (promise 2).
public struct PayloadFault: Error, Sendable, Equatable {
  /// Names what is missing, of another kind, or cannot be read.
  public let code: String

  public init(_ code: String) { self.code = code }

  /// An identifier contains NUL, which stores and logs may cut a text at.
  public static let nul = PayloadFault("nul_in_identifier")
}

extension JSONElement {
  /// A member that must be a string, not empty and without NUL.
  ///
  /// - Throws: `PayloadFault(code)` if it is absent, empty or of another kind; `PayloadFault.nul`
  ///   if it contains NUL.
  func text(_ name: String, required code: String) throws(PayloadFault) -> String {
    guard let text = try identifier(name) else { throw PayloadFault(code) }
    return text
  }

  /// A string member; nil if it is absent, empty or of another kind.
  ///
  /// - Throws: `PayloadFault.nul` if it contains NUL.
  func identifier(_ name: String) throws(PayloadFault) -> String? {
    try self[name]?.identifier()
  }

  /// The string; nil if it is empty or the element is of another kind.
  ///
  /// - Throws: `PayloadFault.nul` if it contains NUL.
  func identifier() throws(PayloadFault) -> String? {
    guard let text = string, !text.isEmpty else { return nil }
    guard !hasEscapes || !text.utf8.contains(0) else { throw PayloadFault.nul }
    return text
  }

  /// A nested JWS; nil if it is absent or null.
  ///
  /// - Throws: `PayloadFault` if it is not a string, or has escapes, which base64url needs
  ///   none of.
  func nested(_ name: String) throws(PayloadFault) -> ArraySlice<UInt8>? {
    guard let member = self[name], member.kind != .null else { return nil }
    guard let bytes = member.plainBytes else { throw PayloadFault("nested_jws") }
    return bytes
  }
}
