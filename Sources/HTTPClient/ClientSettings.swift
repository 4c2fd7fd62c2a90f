/// The bounds of requests.
public struct ClientSettings: Sendable {
  /// Milliseconds until the connection is made, name look-up and TLS handshake included.
  public var connectMilliseconds = 10_000
  /// Milliseconds until the response is whole.
  public var totalMilliseconds = 30_000
  /// Bytes of a response's body at most.
  public var bodyBytes = 4_194_304
  /// Open connections at most, those that are kept for the next request included.
  public var connections = 8
  /// A file of certificate authorities in PEM that tests trust; nil for those of the system.
  package var authorities: String?

  public init() {}
}
