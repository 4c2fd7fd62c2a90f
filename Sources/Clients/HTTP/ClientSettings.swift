/// The bounds of requests.
public struct ClientSettings: Sendable {
  /// Milliseconds until the connection is made, name look-up and TLS handshake included.
  public var connectMilliseconds = 10_000
  /// Milliseconds until the response is whole.
  public var totalMilliseconds = 30_000
  /// Bytes of a response's body at most.
  public var bodyBytes = 4_194_304
  /// Whether the body counts. If not, the head is the whole answer: `ClientResponse.body` is empty,
  /// and what follows the head is read for a second only, so that the connection can be kept.
  public var needsBody = true
  /// Open connections at most, those that are kept for the next request included.
  public var connections = 8
  /// A file of certificate authorities in PEM that are trusted; nil for those of the system.
  public var authorities: String?
  /// Files in PEM with the certificate and the private key that the client shows; nil for none.
  public var clientCertificate: ClientCertificate?
  /// The addresses that may be connected to, whatever name led to them.
  public var addresses = AddressPolicy.any

  /// A certificate of the client and its private key, both in PEM.
  public struct ClientCertificate: Sendable, Equatable {
    let certificate: String
    let key: String

    /// - Parameters: paths of the two files; both parts may be in one.
    public init(certificate: String, key: String) {
      (self.certificate, self.key) = (certificate, key)
    }
  }

  /// A proxy for all requests, which then judges addresses; nil for none.
  public var proxy: ServiceURL?
  /// What a name server would say, as `HOST:PORT:ADDRESS`, for tests (CURLOPT_RESOLVE(3)).
  package var resolved: [String] = []

  public init() {}
}
