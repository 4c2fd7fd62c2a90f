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

  private static let members: [(name: String, source: EventSource)] = [
    ("signedTransactionInfo", .transaction), ("signedRenewalInfo", .renewal),
  ]

  /// Reads a line; nil if it is something else.
  init?(_ root: JSONElement) {
    guard let body = root["body"], let bundleId = body["bundleId"]?.string,
      let environment = body["environment"]?.string,
      let member = Self.members.first(where: { body[$0.name]?.kind == .string }),
      let jws = body[member.name]?.string
    else { return nil }
    self.jws = ArraySlice(jws.utf8)
    source = member.source
    origin = Receiver.EvidenceOrigin(
      bundleId: bundleId, environment: Environment(rawValue: environment))
    isHeld = root["held"]?.boolean ?? false
  }

  /// The member `body` of a line.
  public static func body(
    _ jws: String, _ source: EventSource, from origin: Receiver.EvidenceOrigin
  ) -> JSONValue {
    let name = members.first { $0.source == source }?.name ?? ""
    return .object([
      (name, .string(jws)), ("bundleId", .string(origin.bundleId)),
      ("environment", .string(origin.environment.rawValue)),
    ])
  }
}
