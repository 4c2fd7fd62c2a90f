import Ledger
import Platform
import StrictJSON

/// Looks at a body that was refused: what it seems to be instead of what the path takes.
///
/// Only words of a refusal depend on it. It takes time in proportion to the body, so it looks at
/// none that is much longer than Apple's: to refuse a body must not cost more than three genuine
/// ones (`make bench`). It parses within the limits of what is not proven.
struct BodyDiagnosis {
  /// Apple's notifications have at most about 20 KB.
  private static let maximumBytes = 64 << 10

  let wanted: Problem.Subject
  /// Whether an app has a shared secret, so that notifications of version 1 are taken.
  var takesVersion1 = true

  /// Nil if its form tells no more than the code of the refusal, or was not looked at.
  func finding(_ body: [UInt8]) -> BodyFinding? {
    let maximum = wanted == .receipt ? SubmittedEvidence.explainedBytes : Self.maximumBytes
    guard body.count <= maximum else { return nil }
    let text = ByteSearch.trimmed(body[...])
    if text.isEmpty { return .empty }
    do throws(JSONError) {
      let limits = wanted == .notification ? JSONLimits.version1(bytes: body.count) : .unproven
      let root = try JSONDocument(parsing: body, within: limits).root
      switch root.kind {
      case .object: return object(root)
      case .array: return .list
      case .string: return root.string?.first == "{" ? .encodedTwice : signed(in: root)
      default: return nil
      }
    } catch {
      return unwrapped(text) ?? Self.unparsed(error)
    }
  }

  /// What a JWS claims to be that was proven or not, if that is not what is wanted.
  func finding(jws: ArraySlice<UInt8>) -> BodyFinding? {
    ClaimedJWS(jws).flatMap { finding($0) }
  }

  /// Why the certificates of a receipt were not valid when it was made; nil as of `finding(_:)`.
  static func lateReceipt(_ body: [UInt8]) -> BodyFinding? {
    guard body.count <= SubmittedEvidence.explainedBytes,
      let root = try? JSONDocument(parsing: body, within: .unproven).root
    else { return nil }
    return root[Problem.Subject.receipt.member]?.string.flatMap {
      ReceiptText.late(ArraySlice($0.utf8))
    }
  }

  // MARK: No JSON

  private static func unparsed(_ error: JSONError) -> BodyFinding {
    BodyFinding(
      "no JSON that is accepted: \(error.reason.rawValue), at byte \(error.offset + 1)",
      "Pass it on byte by byte, as it came.")
  }

  private static let names = [
    "signedPayload", "signedTransaction", "signedRenewalInfo", "receipt", "receipt-data",
  ]

  private func unwrapped(_ text: ArraySlice<UInt8>) -> BodyFinding? {
    let start = String(decoding: text.prefix(64), as: UTF8.self)
    if start.contains("&quot;") || start.contains("&#34;") { return .escaped }
    if let kind = ClaimedJWS(text)?.kind {
      return .signed(kind, ", without a JSON object around it")
    }
    if Self.names.contains(where: { start.hasPrefix("\($0)=") }) { return .form }
    if ReceiptText.isReceipt(text) { return .receipt(", without a JSON object around it") }
    return ReceiptText.startsReceipt(text) ? .receipt(" in its own bytes") : nil
  }

  // MARK: Objects

  private func object(_ root: JSONElement) -> BodyFinding? {
    if let value = root[wanted.member] { return self.value(value) ?? members(root) }
    let wrapper = BodyWrapper.all.first { $0.members.allSatisfy { root[$0] != nil } }
    if let wrapper { return wrapper.finding }
    if Self.isVersion1(root) { return version1 }
    if let kind = ClaimedJWS.kind(root) { return .decoded(kind) }
    if ReceiptText.isUnity(root) { return .unity }
    return signed(in: root) ?? spelled(root) ?? named(root)
  }

  /// What is wrong with the value of the member that is wanted.
  private func value(_ value: JSONElement) -> BodyFinding? {
    guard let text = value.string else {
      if let kind = ClaimedJWS.kind(value) { return .decoded(kind) }
      if ReceiptText.isUnity(value) { return .unity }
      return BodyFinding("a member \(wanted.member) that is no text", "Send it as a JSON text.")
    }
    let bytes = ArraySlice(text.utf8)
    if wanted == .receipt { return ReceiptText.finding(bytes) }
    if let jws = ClaimedJWS(bytes) { return finding(jws) }
    if let root = try? JSONDocument(parsing: Array(bytes), within: .unproven).root,
      let kind = ClaimedJWS.kind(root)
    {
      return .decoded(kind)
    }
    if ClaimedJWS(ArraySlice(ByteSearch.packed(bytes))) != nil {
      return BodyFinding("a JWS with white space in it", "Remove that.")
    }
    return ReceiptText.isReceipt(bytes) ? .receipt() : nil
  }

  private func finding(_ jws: ClaimedJWS) -> BodyFinding? {
    // Of a transaction the code says it.
    if jws.isOfXcode { return wanted == .transaction ? nil : .xcode }
    guard let kind = jws.kind else { return nil }
    guard kind == wanted.kind else { return .signed(kind) }
    return kind == .transaction && !jws.hasEnvironment ? .old : nil
  }

  /// What is wrong beside the member that is wanted.
  private func members(_ root: JSONElement) -> BodyFinding? {
    guard wanted != .notification else {
      guard Self.isVersion1(root) else { return nil }
      return BodyFinding(
        "a body with members of both versions", "Send that of one version, as Apple sent it.")
    }
    if root.members.contains(where: { !wanted.members.contains($0.name) }) {
      return BodyFinding(
        "a body with a member that is unknown",
        "The members are \(wanted.members.joined(separator: ", ")).")
    }
    guard let renewal = root["signedRenewalInfo"]?.string,
      let kind = ClaimedJWS(ArraySlice(renewal.utf8))?.kind, kind != .renewal
    else { return nil }
    return BodyFinding(
      "a body whose signedRenewalInfo is something else",
      "Send jwsRepresentation of the subscription's renewalInfo, or leave it out.")
  }

  private static func isVersion1(_ root: JSONElement) -> Bool {
    root["notification_type"] != nil || root["unified_receipt"] != nil
  }

  private var version1: BodyFinding? {
    let name = "a notification of version 1"
    guard wanted == .notification else {
      return BodyFinding(name, "Send it to POST /v1/notifications.")
    }
    guard takesVersion1 else {
      return BodyFinding(
        "\(name), and no app has a v1SharedSecretFile",
        "Choose version 2 in App Store Connect, or configure the app's shared secret.")
    }
    // Nothing tells a missing password from a wrong one.
    return nil
  }

  /// The first JWS or receipt in a member, or in the text that the whole is.
  private func signed(in root: JSONElement) -> BodyFinding? {
    for value in root.kind == .object ? root.members.map(\.value) : [root] {
      guard let text = value.plainBytes else { continue }
      if let jws = ClaimedJWS(text) {
        guard let kind = jws.kind, kind == wanted.kind else { return finding(jws) }
        return BodyFinding(
          BodyFinding.signed(kind).what + " in a member of another name",
          "Send it as \(wanted.member).")
      }
      if ReceiptText.isReceipt(text) {
        return wanted == .receipt
          ? BodyFinding("a receipt in a member of another name", "Send it as receipt.")
          : .receipt()
      }
    }
    return nil
  }

  private func spelled(_ root: JSONElement) -> BodyFinding? {
    let names = root.members.map { $0.name.lowercased().filter(\.isLetter) }
    return names.contains(wanted.member.lowercased()) ? .otherSpelling : nil
  }

  /// Names that bodies for other programs have: the only ones that an answer tells.
  private static let known =
    names + [
      "account", "body", "bundleId", "data", "detail", "environment", "event", "jws", "message",
      "notification", "payload", "productId", "token", "transaction", "transactionId", "type",
    ]

  private func named(_ root: JSONElement) -> BodyFinding {
    let names = Self.known.filter { root[$0] != nil }
    let others = root.members.count - names.count
    let parts =
      names
      + (others > 0 || names.isEmpty
        ? [others == 1 ? "1 member of another name" : "\(others) members of other names"] : [])
    return BodyFinding(
      "a JSON object with \(parts.joined(separator: ", "))",
      "\(wanted.member) is the member that is missing.")
  }
}

/// What a path takes.
extension Problem.Subject {
  private var body: RequestBody {
    switch self {
    case .notification: .notificationV2
    case .transaction: .signedTransaction
    case .receipt: .appReceipt
    case .statement: .claim
    }
  }

  /// The member that holds what Apple signed.
  fileprivate var member: String { members[0] }
  fileprivate var members: [String] { body.members.map(\.name) }

  fileprivate var kind: ClaimedJWS.Kind? {
    switch self {
    case .notification: .notification
    case .transaction: .transaction
    case .receipt, .statement: nil
    }
  }

  /// The sentence that says what was looked for.
  var wish: String {
    switch self {
    case .notification:
      "Wanted is Apple's body: a JSON object with the member signedPayload, or one of version 1."
    case .transaction:
      "Wanted is a JSON object with the member signedTransaction, as StoreKit 2 gives it to the "
        + "app (jwsRepresentation)."
    case .receipt: "Wanted is a JSON object with the member receipt: the app's receipt in base64."
    case .statement: "Wanted is a JSON object."
    }
  }
}
