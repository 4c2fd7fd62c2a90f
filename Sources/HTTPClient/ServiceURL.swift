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

  /// Reads the address of a service. Returns nil for what is against `rule`.
  public init?(_ text: String) {
    let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    guard isVisible, text.utf8.count <= 2048, let url = curl_url() else { return nil }
    defer { curl_url_cleanup(url) }
    guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK,
      [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT]
        .allSatisfy({ Self.part($0, of: url) == nil }),
      !text.utf8.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }),
      let host = Self.part(CURLUPART_HOST, of: url), !host.isEmpty
    else { return nil }
    switch Self.part(CURLUPART_SCHEME, of: url) {
    case "https" where text.hasPrefix("https://"): break
    case "http" where text.hasPrefix("http://") && Self.isLoopback(host): break
    default: return nil
    }
    self.text = text.hasSuffix("/") ? String(text.dropLast()) : text
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
  private static func encoded(_ text: String) -> String {
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
