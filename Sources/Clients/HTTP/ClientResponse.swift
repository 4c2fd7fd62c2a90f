/// A whole response, of any status.
public struct ClientResponse: Sendable, Equatable {
  public let status: Int
  /// The header fields in their order, with names in lower case.
  let fields: [Field]
  public let body: [UInt8]

  struct Field: Sendable, Equatable { let name: String, value: String }

  /// The first value of a header field; nil if there is none.
  ///
  /// - Parameter name: in lower case.
  public func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// Collects the head of a response, line by line as curl delivers it.
struct ResponseHead {
  /// The most bytes of all lines together.
  static let limit = 65_536

  private(set) var fields: [ClientResponse.Field] = []
  /// Whether the empty line that ends it has arrived. curl takes a head that is cut for a whole
  /// one.
  private(set) var isComplete = false
  private var bytes = 0

  /// Whether the body is encoded in another way than the one that every client reads. curl decodes
  /// nothing here, and what a small encoded body becomes has no bound.
  var isEncoded: Bool {
    fields.contains { $0.name == "content-encoding" && $0.value.lowercased() != "identity" }
  }

  /// Adds a line. A status line begins a new head: those before it were interim (RFC 9110 section
  /// 15.2).
  ///
  /// - Returns: false if the head is longer than `limit`.
  mutating func add(_ line: UnsafeRawBufferPointer) -> Bool {
    bytes += line.count
    guard bytes <= Self.limit else { return false }
    let text = String(decoding: line, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      fields = []
      isComplete = false
    } else if text == "\r\n" || text == "\n" {
      isComplete = true
    } else if let colon = text.firstIndex(of: ":") {
      let value = text[text.index(after: colon)...]
      fields.append(
        ClientResponse.Field(name: text[..<colon].lowercased(), value: Self.trimmed(value)))
    }
    return true
  }

  private static func trimmed(_ text: Substring) -> String {
    let start = text.drop(while: \.isWhitespace)
    return String(start.reversed().drop(while: \.isWhitespace).reversed())
  }
}
