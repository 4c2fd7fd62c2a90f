import AppStore
import Platform
import SignedData
import Store
import StrictJSON

/// Receiving V1 notifications, which Apple deprecated and still sends to apps that never switched.
extension Receiver {
  /// Receives a V1 body. Only the shared secret authenticates it: it is compared, then removed
  /// before anything is hashed, stored or logged.
  func receive(v1 root: JSONElement, at now: Int64, _ preservesReceivedAt: Bool) throws(Refusal)
    -> Received
  {
    // First the secret: the search for another one takes time for each value of the body.
    let owners = secrets.apps(root)
    guard !owners.isEmpty else { throw .untrusted("v1_secret") }
    guard !V1Secrets.isHidden(in: root) else { throw .malformed("v1_password") }
    return try receive(v1: V1Body(root), owners: owners, at: now, preservesReceivedAt)
  }

  /// Receives a canonical V1 body again, which was authenticated before it was quarantined.
  ///
  /// - Parameter bundleId: the app that it is for, as quarantine recorded it.
  func receive(
    v1Canonical body: [UInt8], of bundleId: String?, at now: Int64
  ) throws(Refusal) -> Received {
    guard let root = try? JSONDocument(parsing: body).root else { throw .malformed("json") }
    var owners = Set(apps.values.filter { !$0.v1SecretDigests.isEmpty }.map(\.bundleId))
    if let bundleId { owners.formIntersection([bundleId]) }
    return try receive(v1: V1Body(root), owners: owners, at: now, false)
  }

  /// - Parameter owners: the apps whose secret matched.
  private func receive(
    v1 body: V1Body, owners: Set<String>, at now: Int64, _ preservesReceivedAt: Bool
  ) throws(Refusal) -> Received {
    guard let document = try? JSONDocument(parsing: body.bytes) else { throw .malformed("json") }
    do throws(Refusal) {
      let read = try mapError(Refusal.init, try V1Notification(document.root))
      let bundleId = try admit(read, owners)
      try V1Receipt.requireOwn(
        in: document.root, of: bundleId, in: read.environment, proof.receipts, at: now)
      let notification = DecodedNotification(
        read, uuid: body.uuid, receiptDate: ReceiptDates.apples.date(in: document.root))
      let proven = ProvenNotification(
        notification, body: .canonical(body.bytes), bodySHA256: SHA256.hash(body.bytes))
      return accept(proven, of: bundleId, at: now, preservesReceivedAt)
    } catch {
      guard case .notAdmitted = error else { throw error }
      return quarantine(error, document.root, body, owners, at: now)
    }
  }

  /// Checks that the notification is for an app whose secret matched, and returns its bundle id. A
  /// body that names no app is for the one whose secret matched.
  private func admit(
    _ notification: V1Notification, _ owners: Set<String>
  ) throws(Refusal) -> String {
    guard let bundleId = notification.bundleId ?? (owners.count == 1 ? owners.first : nil),
      owners.contains(bundleId), let app = apps[bundleId]
    else { throw .notAdmitted("other_app") }
    guard app.environments.contains(notification.environment) else {
      throw .notAdmitted("other_environment")
    }
    return bundleId
  }

  private func quarantine(
    _ refusal: Refusal, _ root: JSONElement, _ body: V1Body, _ owners: Set<String>, at now: Int64
  ) -> Received {
    var claims = QuarantineClaims(v1: root, body)
    // If the body names no app, the secret did, and it is gone afterwards: so record the app now.
    if claims.bundleId == nil, owners.count == 1 { claims.bundleId = owners.first }
    let item = NewQuarantine(
      reason: refusal.code, owner: .ours, source: .v1, claims: claims, receivedAt: now,
      body: body.bytes, bodySHA256: SHA256.hash(body.bytes))
    return Received(item, refusal: refusal)
  }
}
