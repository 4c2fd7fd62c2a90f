/// What a result of Apple's attempts to send means, and what to look at.
///
/// Source: developer.apple.com/documentation/appstoreserverapi/sendattemptresult. None of them
/// stands for a name that does not resolve: Apple then has no response, or another error.
struct SendResultText {
  static let success = "SUCCESS"

  let meaning: String
  let next: String

  /// - Parameter result: as Apple names it; an unknown one is possible.
  init(_ result: String) {
    (meaning, next) =
      Self.table[result] ?? ("Apple gives no reason that this program knows", Self.outside)
  }

  private static let outside = """
    check the way from outside: the DNS record of the host, the firewall (Apple sends from \
    17.0.0.0/8), the certificate, the proxy's log; https://your.host/readyz must not time out
    """

  private static let table: [String: (meaning: String, next: String)] = [
    success: ("Apple got an answer that counts as success", "nothing"),
    "TIMED_OUT": (
      "Apple got no answer in time",
      "look at took_us of this notification in the daemon's log, and at the proxy's timeouts; if "
        + "the log has no such line, the proxy does not reach the daemon"
    ),
    "TLS_ISSUE": (tls.meaning, tls.next), "SSL_ISSUE": (tls.meaning, tls.next),
    "CIRCULAR_REDIRECT": (
      "the URL leads back to itself",
      "enter the URL in App Store Connect that is answered without a redirect, with https and the "
        + "path /v1/notifications; check the redirects of the proxy"
    ),
    "NO_RESPONSE": ("Apple got no HTTP response", outside),
    "SOCKET_ISSUE": ("the network failed between Apple and the server", outside),
    "UNSUPPORTED_CHARSET": (
      "the answer has a charset that Apple does not know", other
    ),
    "INVALID_RESPONSE": ("the answer is not HTTP as Apple reads it", other),
    "PREMATURE_CLOSE": (
      "the connection was closed before the answer",
      "check whether the daemon or the proxy was restarted, and the proxy's log; the daemon closes "
        + "a connection early only past its limits (http_refused in its log)"
    ),
    "UNSUCCESSFUL_HTTP_RESPONSE_CODE": (
      "the answer had another status than 200",
      "the daemon's log names the reason of a refusal (notification, http_refused); if it has no "
        + "such line, the proxy answered: check its log, and that it passes /v1/notifications on"
    ),
    "OTHER": ("another error, which Apple does not name", outside),
  ]

  private static let tls = (
    meaning: "the TLS handshake failed, or Apple does not trust the certificate",
    next: "openssl s_client -connect your.host:443 -servername your.host: the certificate must be "
      + "valid, be of that name and come with its whole chain, and TLS 1.2 must be allowed"
  )

  private static let other =
    "something else than the daemon answers: check the proxy, and the URL in App Store Connect"
}
