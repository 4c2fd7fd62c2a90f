/// A request to send. Interpolating one shows neither address, header nor body, because each can
/// hold a secret.
public struct ClientRequest: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  public enum Method: String, Sendable { case get = "GET", post = "POST", put = "PUT" }

  let method: Method
  let url: ServiceURL
  /// A name that occurs twice is sent twice.
  let fields: [(name: String, value: String)]
  /// Not sent with GET; it may be empty.
  let body: [UInt8]

  public init(
    _ method: Method, _ url: ServiceURL, fields: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.url = url
    self.fields = fields
    self.body = body
  }

  /// Whether a text is the name of a header field: a token (RFC 9110 section 5.6.2).
  public static func isFieldName(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: marks.contains(byte)
        }
      }
  }

  private static let marks = Array("!#$%&'*+-.^_`|~".utf8)

  public var description: String { "a \(method.rawValue) request" }
  public var debugDescription: String { description }
}
