public import AppStore
import SignedData
public import StrictJSON

/// A V1 body without its secret, in the canonical form that is hashed and journaled: keys sorted by
/// UTF-8 bytes at every level, no white space, numbers as received.
public struct V1Body {
  /// The canonical text.
  public let bytes: [UInt8]
  /// What deduplicates: V1 has no id of its own. It is made of the body without the receipt, in
  /// which alone Apple's retries differ.
  public let uuid: NotificationUUID

  /// Makes the canonical form of a body whose secret was compared. The secret is not copied.
  public init(_ root: JSONElement) {
    self.init(sorted: root.value.without(["password"]).sorted())
  }

  private init(sorted: JSONValue) {
    bytes = sorted.bytes
    var essence = sorted.without(["latest_receipt", "latest_expired_receipt"])
    if case .object(let members) = essence {
      essence = .object(
        members.map { name, value in
          name == "unified_receipt"
            ? (name, value.without(["latest_receipt"])) : (name, value)
        })
    }
    uuid = NotificationUUID(digest: SHA256.hash(essence.bytes))
  }
}
