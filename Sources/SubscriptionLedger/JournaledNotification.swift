import AppStore
import Entitlements
import JournalStore
import SignedData
import StrictJSON

/// An event of the journal, read again from its body.
///
/// It was proven before it was journaled, and the chain shows whether it is still the same, so
/// nothing is proven here; `verify` does that.
struct JournaledNotification {
  let notification: Notification

  /// Why a body that was once admitted cannot be read: the file was changed, or the reader was.
  struct Unreadable: Error {}

  init(_ body: [UInt8]) throws(Unreadable) {
    guard let jws = try? CompactJWS(parsing: body[...]),
      let document = try? JSONDocument(parsing: jws.payload)
    else { throw Unreadable() }
    do throws(Refusal) {
      notification = try Notification(document.root) { (nested, _) throws(Refusal) in
        guard let jws = try? CompactJWS(parsing: nested),
          let document = try? JSONDocument(parsing: jws.payload)
        else { throw Refusal.malformed("nested_payload") }
        return document.root
      }
    } catch {
      throw Unreadable()
    }
  }

  static func foldEvent(_ event: StoredEvent) throws(Unreadable) -> FoldEvent {
    guard event.source == "v1" else {
      return try JournaledNotification(event.body).notification.foldEvent(seq: event.seq)
    }
    guard let root = try? JSONDocument(parsing: event.body).root,
      let notification = try? V1Notification(root),
      let uuid = NotificationUUID(event.notificationUUID)
    else { throw Unreadable() }
    return notification.foldEvent(seq: event.seq, uuid: uuid)
  }
}
