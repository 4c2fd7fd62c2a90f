import CCurl
import Platform

/// An address that requests are sent to: https, or http on a loopback address.
///
/// Parsed by curl (curl_url_set(3)), so that no other parser can read it in another way than the
/// one that connects.
public struct ServiceURL: Sendable, Hashable, CustomStringConvertible {
  /// What an address must be, worded to follow "must be".
  public static let rule =
    "https://HOST[:PORT][/PATH], without user, query and fragment; http:// on loopback alone"

  public let text: String

  public var description: String { text }

  /// What the address of a receiver must be, worded to follow "must be".
  public static let receiverRule =
    "https://HOST[:PORT][/PATH][?QUERY], without user and fragment; http:// with privateNetwork"

  /// Reads the address of a service. Returns nil for what is against `rule`.
  public init?(_ text: String) {
    guard !text.utf8.contains(UInt8(ascii: "?")),
      let checked = Self.checked(text, allowsPlain: Self.isLoopback)
    else { return nil }
    self.text = checked.hasSuffix("/") ? String(checked.dropLast()) : checked
  }

  /// Reads the address of somebody who receives messages. Returns nil for what is against
  /// `receiverRule`.
  ///
  /// - Parameter isPrivate: whether the receiver may be in the organisation's own network.
  public init?(receiver text: String, isPrivate: Bool) {
    guard let checked = Self.checked(text, allowsPlain: { _ in isPrivate }) else { return nil }
    self.text = checked
  }

  /// The text, if it is the address of a server without user and fragment, over https or over
  /// plain http where that is allowed for the host.
  private static func checked(_ text: String, allowsPlain: (String) -> Bool) -> String? {
    let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    guard isVisible, text.utf8.count <= 2048, let url = curl_url() else { return nil }
    defer { curl_url_cleanup(url) }
    guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK,
      [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT]
        .allSatisfy({ part($0, of: url) == nil }),
      !text.utf8.contains(UInt8(ascii: "#")),
      let host = part(CURLUPART_HOST, of: url), !host.isEmpty
    else { return nil }
    switch part(CURLUPART_SCHEME, of: url) {
    case "https" where text.hasPrefix("https://"): return text
    case "http" where text.hasPrefix("http://") && allowsPlain(host): return text
    default: return nil
    }
  }

  private init(unchecked text: String) { self.text = text }

  /// The address with a path and a query. Every segment, name and value is percent-encoded.
  public func appending(
    _ path: [String], query: [(name: String, value: String)] = []
  ) -> ServiceURL {
    var address = path.reduce(text) { $0 + "/" + Self.encoded($1) }
    for (index, item) in query.enumerated() {
      address += index == 0 ? "?" : "&"
      address += Self.encoded(item.name) + "=" + Self.encoded(item.value)
    }
    return ServiceURL(unchecked: address)
  }

  /// Percent-encodes all but the unreserved characters (RFC 3986 section 2.3).
  public static func encoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        bytes.append(byte)
      default:
        let digits = Array("0123456789ABCDEF".utf8)
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a host is this machine whatever a name server says: an address literal, or the name
  /// that curl never resolves elsewhere.
  private static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" { return true }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    let literal = isBracketed ? String(host.dropFirst().dropLast()) : host
    guard let address = IPAddress.canonical(literal) else { return false }
    return address == "::1" || address.hasPrefix("127.")
  }

  private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
