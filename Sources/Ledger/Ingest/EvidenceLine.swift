public import AppStore
public import StrictJSON

/// A line of NDJSON that is evidence:
///
///     {"body":{"signedTransactionInfo":"…","bundleId":"com.example.app","environment":"Sandbox"}}
///
/// or with `signedRenewalInfo`. `bundleId` and `environment` say about which app Apple was asked.
public struct EvidenceLine {
  let jws: ArraySlice<UInt8>
  /// `transaction` or `renewal`.
  let source: EventSource
  let origin: Receiver.EvidenceOrigin
  /// Whether an export says that it was held.
  let isHeld: Bool

  /// Reads a line; nil if it is something else.
  init?(_ root: JSONElement) {
    guard let body = root["body"], let bundleId = body["bundleId"]?.string,
      let environment = body["environment"]?.string,
      let (source, jws) = Self.evidence(body)
    else { return nil }
    self.jws = ArraySlice(jws.utf8)
    self.source = source
    origin = Receiver.EvidenceOrigin(
      bundleId: bundleId, environment: Environment(rawValue: environment))
    isHeld = root["held"]?.boolean ?? false
  }

  private static func evidence(_ body: JSONElement) -> (EventSource, String)? {
    for source in EventSource.all {
      if let jws = source.evidenceJWS.flatMap({ body[$0.member]?.string }) { return (source, jws) }
    }
    return nil
  }

  /// The member `body` of a line.
  public static func body(
    _ jws: String, _ source: EventSource, from origin: Receiver.EvidenceOrigin
  ) -> JSONValue {
    .object([
      (source.evidenceJWS?.member ?? "", .string(jws)), ("bundleId", .string(origin.bundleId)),
      ("environment", .string(origin.environment.rawValue)),
    ])
  }
}
