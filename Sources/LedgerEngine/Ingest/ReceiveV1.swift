import AppStore
import Configuration
import JournalStore
import SignedData
import StrictJSON

/// The door for V1 notifications, deprecated by Apple and still sent to apps that never switched.
extension Receiver {
  /// Receives a V1 body: authentic by the shared secret alone, which is compared and then gone
  /// before anything is hashed, stored or logged.
  func receive(v1 root: JSONElement, at now: Int64, _ preservesReceivedAt: Bool) throws(Refusal)
    -> Received
  {
    guard !V1Secrets.isHidden(in: root) else { throw .malformed("v1_password") }
    let owners = secrets.apps(root)
    guard !owners.isEmpty else { throw .untrusted("v1_secret") }
    return try receive(v1: V1Body(root), owners: owners, at: now, preservesReceivedAt)
  }

  /// Receives a canonical V1 body that was authentic once, as quarantine keeps them, with the app
  /// it is for.
  func receive(
    v1Canonical body: [UInt8], of bundleId: String?, at now: Int64
  ) throws(Refusal) -> Received {
    guard let root = try? JSONDocument(parsing: body).root else { throw .malformed("json") }
    var owners = Set(apps.values.filter { !$0.v1SecretDigests.isEmpty }.map(\.bundleId))
    if let bundleId { owners.formIntersection([bundleId]) }
    return try receive(v1: V1Body(root), owners: owners, at: now, false)
  }

  private func receive(
    v1 body: V1Body, owners: Set<String>, at now: Int64, _ preservesReceivedAt: Bool
  ) throws(Refusal) -> Received {
    guard let document = try? JSONDocument(parsing: body.bytes) else { throw .malformed("json") }
    do throws(Refusal) {
      let notification = try Notification.shaped { () throws(PayloadFault) in
        try V1Notification(document.root)
      }
      let bundleId = try app(of: notification, owners)
      return accept(notification, body, bundleId, at: now, preservesReceivedAt)
    } catch {
      guard case .notAdmitted = error else { throw error }
      return quarantine(error, document.root, body, owners, at: now)
    }
  }

  /// A body without a bundle id is for the app whose secret matched.
  private func app(
    of notification: V1Notification, _ owners: Set<String>
  ) throws(Refusal) -> String {
    guard let bundleId = notification.bundleId ?? (owners.count == 1 ? owners.first : nil),
      owners.contains(bundleId), let app = apps[bundleId]
    else { throw .notAdmitted("other_app") }
    guard app.environments.contains(notification.environment) else {
      throw .notAdmitted("other_environment")
    }
    return bundleId
  }

  private func accept(
    _ notification: V1Notification, _ body: V1Body, _ bundleId: String, at now: Int64,
    _ preservesReceivedAt: Bool
  ) -> Received {
    let event = NewEvent(
      notificationUUID: body.uuid.description, source: "v1",
      environment: notification.environment, bundleId: bundleId,
      notificationType: notification.notificationType, subtype: nil,
      originalTransactionId: notification.originalTransactionId,
      signedDate: notification.evidenceDate, receivedAt: now,
      preservesReceivedAt: preservesReceivedAt,
      body: .bytes(body.bytes), bodySHA256: SHA256.hash(body.bytes))
    return Received(
      event, foldEvent: notification.foldEvent(seq: 0, uuid: body.uuid), at: now)
  }

  private func quarantine(
    _ refusal: Refusal, _ root: JSONElement, _ body: V1Body, _ owners: Set<String>, at now: Int64
  ) -> Received {
    // Where it names no app, the secret did: nobody can ask the secret again.
    let bundleId = root["bid"]?.string ?? (owners.count == 1 ? owners.first : nil)
    let item = NewQuarantine(
      reason: refusal.code, isForeign: false, source: "v1",
      notificationUUID: body.uuid.description,
      environment: root["environment"]?.string.map { V1Notification.environments[$0] ?? $0 },
      bundleId: bundleId, notificationType: root["notification_type"]?.string,
      originalTransactionId: QuarantinedStream.v1(root), signedDate: nil, receivedAt: now,
      body: body.bytes, bodySHA256: SHA256.hash(body.bytes))
    return Received(item, refusal: refusal)
  }
}
