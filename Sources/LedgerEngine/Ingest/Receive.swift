import AppStore
public import Configuration
public import Entitlements
public import JournalStore
import SignedData
import StrictJSON

/// The door: turns the body of a POST into something the writer may keep, or a refusal.
///
/// Keeps promise 3 (nothing unproven enters) and the first half of promise 2 (what is genuine and
/// not admitted goes to quarantine). One per thread, as its prover is; it has no clock.
public final class Receiver {
  /// What came through the door. By reference: on its way to the writer it is handed on some five
  /// times, and has sixty strings.
  public final class Received: Sendable {
    public let submission: Submission
    /// For events of a stream: where and what to fold once it is journaled.
    public let stream: StreamKey?
    public let foldEvent: FoldEvent?
    /// Why it goes to quarantine; nil for an event.
    public let refusal: Refusal?
    public let notificationType: String?
    /// Signed ahead of our clock by more than five minutes: our clock is what is wrong.
    public let isAheadOfClock: Bool
    /// Apple sends a type that this program has no rule for; it is kept and folded all the same.
    public let isUnknownType: Bool

    /// Ahead of our clock by this many milliseconds is not counted: clocks differ.
    private static let clockTolerance: Int64 = 300_000

    init(_ event: NewEvent, foldEvent: FoldEvent, at now: Int64) {
      submission = .event(event)
      stream = event.originalTransactionId.map {
        StreamKey(
          environment: event.environment, bundleId: event.bundleId, originalTransactionId: $0)
      }
      self.foldEvent = stream == nil ? nil : foldEvent
      refusal = nil
      notificationType = event.notificationType
      let known = event.source == "v1" ? NotificationTypes.v1 : NotificationTypes.v2
      isUnknownType = !known.contains(event.notificationType)
      isAheadOfClock = event.signedDate > now.advanced(orBoundBy: Self.clockTolerance)
    }

    private init(_ submission: Submission, like other: Received) {
      self.submission = submission
      (stream, foldEvent, refusal) = (other.stream, other.foldEvent, other.refusal)
      notificationType = other.notificationType
      (isAheadOfClock, isUnknownType) = (other.isAheadOfClock, other.isUnknownType)
    }

    /// The same as one of several of which none is journaled behind a refused one.
    func joining(_ run: EventRun) -> Received {
      guard case .event(var event) = submission else { return self }
      event.run = run
      return Received(.event(event), like: self)
    }

    init(_ item: NewQuarantine, refusal: Refusal) {
      submission = .quarantine(item)
      (stream, foldEvent, isAheadOfClock, isUnknownType) = (nil, nil, false, false)
      self.refusal = refusal
      notificationType = item.notificationType
    }
  }

  private let proof: NotificationProof
  private let packer: BodyPacker
  let apps: [String: Configuration.App]
  let secrets: V1Secrets

  /// - Parameter dictionary: that of the journal for which it receives.
  public init(
    _ configuration: Configuration, dictionary: SharedDictionary = SharedDictionary()
  ) throws(ConfigurationError) {
    packer = BodyPacker(dictionary)
    apps = configuration.apps
    secrets = V1Secrets(configuration.apps)
    proof = try NotificationProof(configuration.trustRoots)
  }

  /// How often a certificate chain was known already, and how often it had to be proven.
  public var chainHits: Int { proof.chainHits }
  public var chainMisses: Int { proof.chainMisses }

  /// Receives the body of a POST.
  ///
  /// - Parameters:
  ///   - now: our clock, milliseconds since 1970; becomes the receive time.
  ///   - preservesReceivedAt: `now` comes from a file and is stored exactly, or refused.
  public func receive(
    body: [UInt8], at now: Int64, preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    let document: JSONDocument
    do throws(JSONError) {
      document = try JSONDocument(parsing: body)
    } catch {
      throw .malformed("json")
    }
    switch NotificationEnvelope(document) {
    case .v2(let signedPayload):
      return try receive(
        signedPayload: signedPayload, at: now, preservesReceivedAt: preservesReceivedAt)
    case .v1(let root): return try receive(v1: root, at: now, preservesReceivedAt)
    case nil: throw .malformed("envelope")
    }
  }

  /// Receives a body as quarantine keeps it, once the configuration was mended.
  func readmit(_ item: StoredQuarantine, at now: Int64) throws(Refusal) -> Received {
    item.source == "v1"
      ? try receive(v1Canonical: item.body, of: item.bundleId, at: now)
      : try receive(signedPayload: item.body[...], at: now)
  }

  /// Receives a signedPayload.
  public func receive(
    signedPayload: ArraySlice<UInt8>, at now: Int64, preservesReceivedAt: Bool = false
  ) throws(Refusal) -> Received {
    let opened = try proof.open(signedPayload, at: now)
    // From here on it is genuine: nothing but a nested forgery may make it vanish (promise 2).
    do throws(Refusal) {
      guard let document = opened.document else { throw .notAdmitted("payload_json") }
      let notification = try proof.notification(document, at: now)
      try admit(notification.payload)
      return accept(notification, opened, at: now, preservesReceivedAt)
    } catch {
      guard case .notAdmitted = error else { throw error }
      return quarantine(error, opened, at: now)
    }
  }

  /// Whether the notification is for one of our apps, as configured.
  private func admit(_ payload: NotificationPayload) throws(Refusal) {
    guard let app = apps[payload.bundleId] else { throw .notAdmitted("other_app") }
    if payload.environment == "Production", payload.appAppleId != app.appAppleId {
      throw .notAdmitted("other_app_apple_id")
    }
    guard app.environments.contains(payload.environment) else {
      throw .notAdmitted("other_environment")
    }
  }

  private func accept(
    _ notification: Notification, _ opened: NotificationProof.Opened, at now: Int64,
    _ preservesReceivedAt: Bool
  ) -> Received {
    let payload = notification.payload
    let event = NewEvent(
      notificationUUID: payload.notificationUUID.description, source: "v2",
      environment: payload.environment, bundleId: payload.bundleId,
      notificationType: payload.notificationType, subtype: payload.subtype,
      originalTransactionId: notification.identifier, signedDate: payload.signedDate,
      receivedAt: now, preservesReceivedAt: preservesReceivedAt, body: packer.body(opened.jws),
      bodySHA256: opened.bodySHA256)
    return Received(event, foldEvent: notification.foldEvent(seq: 0), at: now)
  }

  private func quarantine(
    _ refusal: Refusal, _ opened: NotificationProof.Opened, at now: Int64
  ) -> Received {
    let root = opened.document?.root
    let content = ["data", "appData", "summary", "externalPurchaseToken"]
      .compactMap { root?[$0] }.first
    let bundleId = content?["bundleId"]?.string
    let uuid = root?["notificationUUID"]?.string.flatMap { NotificationUUID($0) }
    let item = NewQuarantine(
      reason: refusal.code, isForeign: bundleId.map { apps[$0] == nil } ?? true, source: "v2",
      notificationUUID: uuid?.description, environment: content?["environment"]?.string,
      bundleId: bundleId, notificationType: root?["notificationType"]?.string,
      originalTransactionId: QuarantinedStream.v2(root),
      signedDate: root?["signedDate"]?.integer, receivedAt: now, body: Array(opened.jws.text),
      bodySHA256: opened.bodySHA256)
    return Received(item, refusal: refusal)
  }
}
