public import AppStore
public import Platform
import SignedData
public import Store
public import StrictJSON

/// Proves and admits the body of a POST: returns what the writer should journal or quarantine, or
/// throws a refusal.
///
/// Keeps promise 3 (nothing unproven enters) and the first half of promise 2 (what is genuine and
/// not admitted goes to quarantine). One per thread, like its prover; it reads no clock.
public final class Receiver {
  let proof: NotificationProof
  private let packer: BodyPacker
  let apps: [String: Configuration.App]
  let secrets: V1Secrets

  /// - Parameter dictionary: that of the journal for which it receives.
  /// - Throws: `LedgerError` if a trust root is not a certificate.
  public init(
    _ configuration: Configuration, dictionary: SharedDictionary = SharedDictionary()
  ) throws(LedgerError) {
    packer = BodyPacker(dictionary)
    apps = configuration.apps
    secrets = V1Secrets(configuration.apps)
    proof = try NotificationProof(configuration.trustRoots)
  }

  /// How many certificate chains were found in the prover's cache, and how many were not.
  public var chainHits: Int { proof.chainHits }
  public var chainMisses: Int { proof.chainMisses }

  /// Whether an app has a shared secret, so that notifications of version 1 can be authentic.
  public var takesVersion1: Bool { !secrets.isEmpty }

  /// Receives the body of a POST.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  ///   - preservesReceivedAt: `now` comes from a file; the journal stores it unchanged or refuses
  ///     the event.
  /// - Throws: `Refusal.malformed` for a body that is not a notification, `Refusal.untrusted` for
  ///   one that is not authentic. One that is genuine and not admitted is returned for quarantine.
  public func receive(
    body: [UInt8], at now: Int64, preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    guard let document = document(of: body) else { throw .malformed("json") }
    return try receive(document, at: now, preservesReceivedAt: preservesReceivedAt)
  }

  /// A body, parsed; nil if it is not JSON or holds too much.
  func document(of body: [UInt8]) -> JSONDocument? {
    try? JSONDocument(parsing: body, within: limits(of: body))
  }

  /// Receives what `document(of:)` made of a body.
  ///
  /// - Throws: as `receive(body:at:preservesReceivedAt:)`.
  func receive(
    _ document: JSONDocument, at now: Int64, preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    switch NotificationEnvelope(document) {
    case .v2(let signedPayload):
      return try receive(
        signedPayload: signedPayload, at: now, preservesReceivedAt: preservesReceivedAt)
    case .v1(let root): return try receive(v1: root, at: now, preservesReceivedAt)
    case nil: throw .malformed("envelope")
    }
  }

  /// How much an unproven body may hold.
  private func limits(of body: [UInt8]) -> JSONLimits {
    takesVersion1 ? .version1(bytes: body.count) : .unproven
  }

  /// Receives the body of a quarantined notification again. A receipt has several parts.
  ///
  /// - Parameter origin: the app that the owner says it is of, where it names none.
  func readmit(
    _ item: StoredQuarantine, from origin: EvidenceOrigin?, at now: Int64
  ) throws(Refusal) -> [Received] {
    switch item.source.form {
    case .v1: [try receive(v1Canonical: item.body, of: item.bundleId, at: now)]
    case .receipt: try receive(receipt: item.body, at: now).parts
    default: [try receive(signedPayload: item.body[...], from: origin, at: now)]
    }
  }

  /// Receives a signedPayload.
  ///
  /// - Parameter origin: the app that the owner says it is of, where it names none.
  /// - Throws: as `receive(body:at:preservesReceivedAt:)`.
  public func receive(
    signedPayload: ArraySlice<UInt8>, from origin: EvidenceOrigin? = nil, at now: Int64,
    preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    let proven = try proof.prove(signedPayload, at: now)
    // It is genuine: from here on only a forged nested JWS is refused (promise 2).
    do throws(Refusal) {
      let filed = origin.map { ($0.bundleId, $0.environment) }
      let notification = try proof.notification(in: proven, filed: filed, at: now)
      let bundleId = try admit(notification.decoded)
      return accept(notification, of: bundleId, at: now, preservesReceivedAt)
    } catch {
      guard case .notAdmitted = error else { throw error }
      return quarantine(error, proven, at: now)
    }
  }

  /// Where evidence comes from: an answer is about the app and environment that were asked for.
  public struct EvidenceOrigin: Sendable {
    public let bundleId: String
    public let environment: Environment

    public init(bundleId: String, environment: Environment) {
      self.bundleId = bundleId
      self.environment = environment
    }
  }

  /// Receives a transaction or renewal information that Apple signed outside of a notification.
  ///
  /// - Parameters:
  ///   - source: `transaction` or `renewal`.
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  /// - Throws: `Refusal.malformed` for a text that is not a JWS, `.untrusted` for one that is not
  ///   authentic, `.notAdmitted` for one of another app or environment. None goes to quarantine.
  public func receive(
    evidence jws: ArraySlice<UInt8>, _ source: EventSource, from origin: EvidenceOrigin,
    at now: Int64, preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    try receive(
      evidence: jws, source, of: origin.bundleId, in: origin.environment, at: now,
      preservesReceivedAt: preservesReceivedAt)
  }

  /// Receives evidence of an app; where `bundleId` is nil, of the app that the evidence names.
  func receive(
    evidence jws: ArraySlice<UInt8>, _ source: EventSource, of bundleId: String?,
    in environment: Environment, at now: Int64, preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    let proven = try proof.prove(jws, at: now)
    let notification = try proof.notification(in: proven, of: source, at: now)
    if !source.namesApp, let root = proven.document?.root, Self.isTransaction(root) {
      throw .notAdmitted("payload_shape")
    }
    let named = notification.decoded.bundleId
    guard let bundleId = bundleId ?? named, let app = apps[exactly: bundleId],
      ByteSearch.areEqual(named ?? bundleId, bundleId)
    else { throw .notAdmitted("wrong_app") }
    guard notification.decoded.environment == environment, app.environments.contains(environment)
    else { throw .notAdmitted("wrong_environment") }
    return accept(notification, of: bundleId, at: now, preservesReceivedAt)
  }

  /// Whether a payload is a transaction: read as renewal information, it would say that nothing is
  /// renewed. Apple's renewal information always has an autoRenewStatus.
  private static func isTransaction(_ payload: JSONElement) -> Bool {
    payload["transactionId"] != nil && payload["autoRenewStatus"] == nil
  }

  /// Checks that the notification is for one of our apps, as configured, and returns its bundle id.
  private func admit(_ notification: DecodedNotification) throws(Refusal) -> String {
    let id = notification.appAppleId
    let named =
      notification.bundleId ?? apps.values.first { id != nil && $0.appAppleId == id }?.bundleId
    guard let bundleId = named, let app = apps[exactly: bundleId] else {
      throw .notAdmitted("other_app")
    }
    if notification.environment == .production, id != app.appAppleId,
      notification.hasKnownContent || id != nil
    {
      throw .notAdmitted("other_app_apple_id")
    }
    guard app.environments.contains(notification.environment) else {
      throw .notAdmitted("other_environment")
    }
    return bundleId
  }

  /// Makes the event of an admitted notification of either version.
  func accept(
    _ notification: ProvenNotification, of bundleId: String, at now: Int64,
    _ preservesReceivedAt: Bool
  ) -> Received {
    let body =
      switch notification.body {
      case .jws(let jws): packer.body(jws)
      case .canonical(let bytes): NewEvent.Body.bytes(bytes)
      case .receipt(let receipt): NewEvent.Body.receipt(receipt)
      }
    var event = NewEvent(
      envelope: notification.decoded.envelope(of: bundleId, receivedAt: now),
      preservesReceivedAt: preservesReceivedAt, body: body,
      bodySHA256: notification.bodySHA256)
    event.makeFoldEvent = { notification.decoded.foldEvent(seq: 0) }
    return Received(event, notification, at: now)
  }

  /// Whether a statement is about a configured app, in an environment of it.
  func admits(_ statement: OwnerStatement) -> Bool {
    apps[exactly: statement.bundleId]?.environments.contains(statement.environment) ?? false
  }

  private func quarantine(
    _ refusal: Refusal, _ proven: NotificationProof.ProvenJWS, at now: Int64
  ) -> Received {
    let claims = QuarantineClaims(v2: proven.document?.root, refusal.code)
    let item = NewQuarantine(
      reason: refusal.code, owner: owner(claims.bundleId), source: .v2, claims: claims,
      receivedAt: now, body: Array(proven.jws.text), bodySHA256: proven.bodySHA256)
    return Received(item, refusal: refusal)
  }

  func owner(_ bundleId: String?) -> NewQuarantine.Owner {
    guard let bundleId else { return .unnamed }
    return apps[exactly: bundleId] == nil ? .foreign : .ours
  }
}

extension JSONLimits {
  /// How much an unproven V1 body may hold: JSON with all transactions of a receipt, where a value
  /// takes eight bytes or more.
  public static func version1(bytes: Int) -> JSONLimits {
    JSONLimits(members: unproven.members, values: unproven.values + bytes / 8)
  }
}
