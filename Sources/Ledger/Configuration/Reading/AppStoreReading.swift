import Clients
import Platform
import SignedData
import StrictJSON

/// Reads the key `appStore`, which may stand at the top, at an app, or at both: then each member of
/// the app's wins over the one of the same name at the top.
extension ConfigurationReader {
  /// The members that are given.
  struct AppStoreMembers {
    var issuerId: String?
    var keyId: String?
    var key: Configuration.AppStoreAccess.Key?
    var production: ServiceURL?
    var sandbox: ServiceURL?
    var limitShare: Double?
    var recover: Configuration.AppStoreAccess.Recovery?
    var reconcileAfter: Int64?
    var proxy: ServiceURL?
  }

  /// The access of an app; nil if neither it nor the top has one.
  func appStore(
    _ app: JSONElement, over shared: AppStoreMembers?
  ) throws(LedgerError) -> Configuration.AppStoreAccess? {
    let own = try appStore(app)
    guard own != nil || shared != nil else { return nil }
    func member<Value>(_ member: KeyPath<AppStoreMembers, Value?>) -> Value? {
      own?[keyPath: member] ?? shared?[keyPath: member]
    }
    func required<Value>(
      _ path: KeyPath<AppStoreMembers, Value?>, _ name: String
    ) throws(LedgerError) -> Value {
      guard let value = member(path) else {
        throw invalid("\(name) is missing", "add it here or to appStore at the top")
      }
      return value
    }
    let usual = Configuration.AppStoreAccess.self
    return Configuration.AppStoreAccess(
      issuerId: try required(\.issuerId, "issuerId"), keyId: try required(\.keyId, "keyId"),
      key: try required(\.key, "keyFile"),
      production: try address(member(\.production), or: usual.productionAddress),
      sandbox: try address(member(\.sandbox), or: usual.sandboxAddress),
      limitShare: member(\.limitShare) ?? usual.usualLimitShare,
      recover: member(\.recover) ?? .automatic,
      reconcileAfter: member(\.reconcileAfter) ?? usual.usualReconcileAfter,
      proxy: member(\.proxy))
  }

  /// The members that an object has; nil if it has no `appStore`.
  func appStore(_ parent: JSONElement) throws(LedgerError) -> AppStoreMembers? {
    guard let object = parent["appStore"] else { return nil }
    try requireKnownKeys(object, .appStore)
    var members = AppStoreMembers()
    members.issuerId = try headerText(object, "issuerId")
    members.keyId = try headerText(object, "keyId")
    if let path = try text(object, "keyFile") { members.key = try key(path) }
    if let text = try text(object, "production") {
      members.production = try address(text, "production")
    }
    if let text = try text(object, "sandbox") { members.sandbox = try address(text, "sandbox") }
    members.limitShare = try limitShare(object)
    if let name = try text(object, "recover") {
      guard let recover = Configuration.AppStoreAccess.Recovery(rawValue: name) else {
        throw invalid("recover is unknown", "write \"automatic\" or \"off\"")
      }
      members.recover = recover
    }
    if let text = try text(object, "reconcileAfter") {
      guard let duration = Self.hours(text) ?? Self.milliseconds(text) else {
        throw invalid("reconcileAfter is not a duration", "write hours or days: \"PT24H\", \"P2D\"")
      }
      members.reconcileAfter = duration
    }
    members.proxy = try proxy(object)
    return members
  }

  /// Reads the key `verifyReceipt`.
  func receiptService(
    _ root: JSONElement, into service: inout Configuration.ReceiptService
  ) throws(LedgerError) {
    guard let object = root["verifyReceipt"] else { return }
    try requireKnownKeys(object, .verifyReceipt)
    if let text = try text(object, "production") {
      service.production = try address(text, "production")
    }
    if let text = try text(object, "sandbox") { service.sandbox = try address(text, "sandbox") }
  }

  private func headerText(
    _ object: JSONElement, _ name: String
  ) throws(LedgerError) -> String? {
    guard let text = try text(object, name) else { return nil }
    guard text.utf8.count <= 128, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw invalid("\(name) is no identifier", "copy it from App Store Connect")
    }
    return text
  }

  private func address(_ text: String, _ name: String) throws(LedgerError) -> ServiceURL {
    guard let address = ServiceURL(text) else {
      throw invalid("\(name) is no usable address", "it must be \(ServiceURL.rule)")
    }
    return address
  }

  private func address(
    _ given: ServiceURL?, or usual: String
  ) throws(LedgerError) -> ServiceURL {
    if let given { return given }
    return try address(usual, "the usual address")
  }

  private func limitShare(_ object: JSONElement) throws(LedgerError) -> Double? {
    guard let member = object["limitShare"] else { return nil }
    guard let share = member.number.flatMap(Double.init), (0.01...1).contains(share) else {
      throw invalid("limitShare is not a number from 0.01 to 1", "omit it for the default")
    }
    return share
  }

  /// Reads a private key. The errors hold nothing of the file.
  private func key(_ path: String) throws(LedgerError) -> Configuration.AppStoreAccess.Key {
    let path = credential(path) ?? resolved(path)
    let bytes = try read(path, limit: 16_384)
    guard (try? DurableFile.isPrivate(path)) == true else {
      throw invalid("keyFile can be read by others", "chmod 600 it")
    }
    guard let key = try? SigningKey.read(pem: bytes), key.kind == .p256 else {
      throw invalid(
        "keyFile is no unencrypted P-256 private key in PEM",
        "use the file SubscriptionKey_….p8 as App Store Connect gave it")
    }
    return Configuration.AppStoreAccess.Key(signing: key, digest: SHA256.hash(bytes))
  }

  /// The length of an ISO 8601 duration of whole hours in milliseconds; nil for anything else.
  static func hours(_ text: String) -> Int64? {
    guard text.hasPrefix("PT"), text.hasSuffix("H"),
      let count = Int64(text.dropFirst(2).dropLast()),
      (1...876_000).contains(count)
    else { return nil }
    return count * 3_600_000
  }
}

extension Configuration.AppStoreAccess {
  /// What holds if the configuration says nothing else.
  static let productionAddress = "https://api.storekit.apple.com"
  static let sandboxAddress = "https://api.storekit-sandbox.apple.com"
  static let usualLimitShare = 0.5
  static let usualReconcileAfter: Int64 = 24 * 3_600_000
}
