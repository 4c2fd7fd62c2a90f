import Ledger
import Platform
import StrictJSON

/// What a text seems to be that should be a receipt in base64.
enum ReceiptText {
  static func finding(_ text: ArraySlice<UInt8>) -> BodyFinding? {
    if let found = signed(text) { return found }
    let packed = ByteSearch.packed(text)
    guard !packed.isEmpty else { return notBase64 }
    guard let bytes = Base64.decode(packed[...]) else { return undecoded(packed, text) }
    return decoded(bytes[...])
  }

  /// A receipt that was made after one of its certificates had ended.
  static func late(_ text: ArraySlice<UInt8>) -> BodyFinding? {
    guard let der = Base64.decode(ByteSearch.packed(text)[...]),
      let (ended, made) = ReceiptProof.lateness(of: der)
    else { return nil }
    return BodyFinding(
      "a receipt whose certificate ended at \(Timestamp.text(ended)), and which was made later, "
        + "at \(Timestamp.text(made))", "Take a new one: let the app refresh its receipt.")
  }

  /// Whether a text is base64 that starts as a receipt does.
  static func isReceipt(_ text: ArraySlice<UInt8>) -> Bool {
    guard text.count > 64, let start = Base64.decode(text.prefix(64)) else { return false }
    return startsReceipt(start[...])
  }

  /// Whether bytes start with a SEQUENCE that is long, or of BER, as a receipt does.
  static func startsReceipt(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.first == sequence && (0x80...0x84).contains(bytes.dropFirst().first ?? 0)
  }

  /// The receipt of Unity's purchasing: {"Store":"AppleAppStore","TransactionID":…,"Payload":…}.
  static func isUnity(_ root: JSONElement) -> Bool {
    root["Payload"] != nil && root["Store"] != nil
  }

  private static let sequence: UInt8 = 0x30

  /// A JWS, JSON or a property list, in place of the receipt or inside of its base64.
  private static func signed(_ text: ArraySlice<UInt8>) -> BodyFinding? {
    if let jws = ClaimedJWS(text) {
      return jws.isOfXcode ? .xcode : jws.kind.map { .signed($0) }
    }
    if isPropertyList(text) {
      return BodyFinding(
        "the receipt of one transaction from before iOS 7, a signed property list",
        "Send the app's receipt (appStoreReceiptURL), or let subledger import ask Apple for the "
          + "transaction by its id.")
    }
    guard text.first == UInt8(ascii: "{"),
      let root = try? JSONDocument(parsing: Array(text), within: .unproven).root
    else { return nil }
    if isUnity(root) { return .unity }
    return ClaimedJWS.kind(root).map { .decoded($0) }
      ?? BodyFinding("JSON in place of the receipt", "Send the receipt itself, in base64.")
  }

  private static func isPropertyList(_ text: ArraySlice<UInt8>) -> Bool {
    let start = String(decoding: ByteSearch.packed(text.prefix(64)), as: UTF8.self)
    return start.hasPrefix(#"{"signature"="#) || start.hasPrefix(#"{"purchase-info"="#)
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> BodyFinding? {
    if let found = signed(bytes) { return found }
    if startsReceipt(bytes) {
      guard let length = length(bytes) else {
        return BodyFinding(
          "a receipt in BER, as Xcode writes it for local tests",
          "It proves nothing: test with a Sandbox account.")
      }
      return length > bytes.count ? cut : nil
    }
    let inner = Base64.decode(ByteSearch.packed(bytes)[...])
    return inner.map { startsReceipt($0[...]) } == true
      ? BodyFinding("a receipt in base64 twice", "Encode it once.") : nil
  }

  private static let cut = BodyFinding(
    "a receipt that was cut: its end is missing",
    "Send all of it; look for a column or a log that keeps less.")

  /// The length that the header of a `startsReceipt` says; nil in BER, which may say none.
  private static func length(_ bytes: ArraySlice<UInt8>) -> Int? {
    let header = bytes.dropFirst()
    guard let first = header.first, first != 0x80 else { return nil }
    let size = Int(first & 0x07)
    return 2 + size + header.dropFirst().prefix(size).reduce(0) { $0 << 8 | Int($1) }
  }

  private static let notBase64 = BodyFinding(
    "a text that is not base64", "Send the file of the receipt in base64, nothing else.")

  /// A text that is no base64 in the standard alphabet with padding.
  private static func undecoded(_ packed: [UInt8], _ text: ArraySlice<UInt8>) -> BodyFinding {
    let has = { (character: Unicode.Scalar) in packed.contains(UInt8(ascii: character)) }
    let bare = packed[..<(packed.lastIndex { $0 != UInt8(ascii: "=") }.map { $0 + 1 } ?? 0)]
    if has("%") && has("M") && !has(".") {
      return BodyFinding("base64 with percent-encoding", "Decode %2B, %2F and %3D.")
    }
    if (has("-") || has("_")) && Base64URL.decode(bare) != nil {
      return BodyFinding(
        "base64 in the URL-safe alphabet", "Replace - by + and _ by /, and pad with = at the end.")
    }
    let padded = bare + [UInt8](repeating: UInt8(ascii: "="), count: (4 - bare.count % 4) % 4)
    let whole = Base64.decode(bare.prefix(bare.count / 4 * 4))
    guard let whole, startsReceipt(whole[...]) else {
      return notBase64
    }
    if text.contains(UInt8(ascii: " ")) && !has("+") {
      return BodyFinding(
        "base64 with spaces where + was, as after decoding a form", "Send + as it is.")
    }
    let isWhole = Base64.decode(padded).map { $0.count == length($0[...]) }
    return isWhole == true
      ? BodyFinding("base64 without its padding", "Pad with = to a multiple of four.") : cut
  }
}
