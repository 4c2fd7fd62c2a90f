import AppStore
public import Entitlements
public import JournalStore
import SignedData
import StrictJSON

/// What the fold takes of a journaled event, read from its payloads.
///
/// It was proven before it was journaled, and the chain shows whether it is still the same, so
/// nothing is proven here; `verify` does that.
public enum JournaledNotification {
  /// Why a body that was once admitted cannot be read: the file was changed, or the reader was.
  public struct Unreadable: Error {}

  public static func foldEvent(_ journaled: JournaledPayload) throws(Unreadable) -> FoldEvent {
    switch journaled.content {
    case .unreadable: throw Unreadable()
    case .json(let body): return try v1(body, journaled)
    case .jws(let payload, let nested):
      if let event = try? v2(payload, nested, journaled.seq) { return event }
      guard !nested.isEmpty, let exact = journaled.exactPayload else { throw Unreadable() }
      return try v2(exact, [], journaled.seq)
    }
  }

  private static func v1(
    _ body: [UInt8], _ journaled: JournaledPayload
  ) throws(Unreadable) -> FoldEvent {
    guard let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root), let uuid = journaled.uuid
    else { throw Unreadable() }
    return notification.foldEvent(
      seq: journaled.seq, uuid: NotificationUUID(high: uuid.high, low: uuid.low))
  }

  /// Reads an outer payload in which numbers stand for nested JWS.
  ///
  /// - Throws: also where a number was not opened. It then stands in some member that is read as
  ///   text, or in one that nobody reads, and only the exact payload can tell which.
  private static func v2(
    _ payload: [UInt8], _ nested: [JournaledPayload.Nested], _ seq: Int64
  ) throws(Unreadable) -> FoldEvent {
    guard let document = try? JSONDocument(parsing: payload) else { throw Unreadable() }
    var opened = 0
    do throws(Refusal) {
      let notification = try Notification(document.root) { (jws, _) throws(Refusal) in
        guard let number = nested.firstIndex(where: { $0.place == jws.startIndex }),
          jws.count == 1
        else { return try open(jws) }
        opened += 1
        return try root(nested[number].payload)
      }
      guard opened == nested.count else { throw Refusal.malformed("nested_payload") }
      return notification.foldEvent(seq: seq)
    } catch {
      throw Unreadable()
    }
  }

  /// Reads a signedPayload as it is, without proof.
  public static func notification(
    _ signedPayload: ArraySlice<UInt8>
  ) throws(Refusal) -> Notification {
    try Notification(try open(signedPayload)) { (jws, _) throws(Refusal) in try open(jws) }
  }

  /// A JWS that stands there as it was signed.
  private static func open(_ jws: ArraySlice<UInt8>) throws(Refusal) -> JSONElement {
    guard let jws = try? CompactJWS(parsing: jws) else { throw Refusal.malformed("nested_payload") }
    return try root(jws.payload)
  }

  private static func root(_ payload: [UInt8]) throws(Refusal) -> JSONElement {
    guard let document = try? JSONDocument(parsing: payload) else {
      throw Refusal.malformed("nested_payload")
    }
    return document.root
  }
}
