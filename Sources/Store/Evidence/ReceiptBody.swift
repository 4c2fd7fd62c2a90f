public import AppStore
import Platform
import SignedData

/// A receipt on its way into the journal, shared by the events that it makes: one for each original
/// transaction id that it names.
public final class ReceiptBody: Sendable, Equatable {
  /// The exact bytes that the chain covers.
  public let der: [UInt8]
  /// SHA-256 of `der`.
  public let sha256: [UInt8]
  public let content: AppReceipt
  /// After `der`. `nonisolated(unsafe)` because nothing changes it after `init`.
  nonisolated(unsafe) private let hash: SHA256

  /// - Parameter content: the content of `der`.
  public init(der: [UInt8], content: AppReceipt) {
    (self.der, self.content) = (der, content)
    var hash = SHA256()
    hash.update(der)
    var whole = hash.fork()
    sha256 = whole.finish()
    self.hash = hash
  }

  /// Reads a receipt that was proven before it was stored; nil if it cannot be read.
  convenience init?(stored der: [UInt8]) {
    guard let message = try? SignedMessage(parsing: der),
      let content = try? AppReceipt(message.content)
    else { return nil }
    self.init(der: der, content: content)
  }

  /// The UUID of the event about one original transaction id: of SHA-256 over the receipt and the
  /// id.
  public func uuid(of originalTransactionId: String) -> NotificationUUID {
    var whole = hash.fork()
    whole.update(originalTransactionId.utf8)
    return NotificationUUID(digest: whole.finish())
  }

  public static func == (one: ReceiptBody, other: ReceiptBody) -> Bool { one.der == other.der }
}

/// What the row of an event or of held evidence stores in place of the body of a receipt: the hash
/// of the receipt, and which of its original transaction ids the event is about.
struct ReceiptReference {
  let sha256: ArraySlice<UInt8>
  let originalTransactionId: String

  private static let hashSize = 32

  /// - Parameter stored: begins with the byte that says the form.
  /// - Returns: nil for bytes that are no reference.
  init?(_ stored: [UInt8]) {
    guard stored.first == BodyCodec.Form.receipt, stored.count > 1 + Self.hashSize,
      let id = String(validating: stored[(1 + Self.hashSize)...], as: UTF8.self)
    else { return nil }
    (sha256, originalTransactionId) = (stored[1...Self.hashSize], id)
  }

  init(_ receipt: ReceiptBody, of originalTransactionId: String) {
    (sha256, self.originalTransactionId) = (receipt.sha256[...], originalTransactionId)
  }

  var bytes: [UInt8] { [BodyCodec.Form.receipt] + sha256 + Array(originalTransactionId.utf8) }

  /// Whether a stored form is of an event about this id. True for other forms than references.
  static func isOf(_ originalTransactionId: String?, _ stored: [UInt8]) -> Bool {
    guard stored.first == BodyCodec.Form.receipt else { return true }
    guard let named = ReceiptReference(stored)?.originalTransactionId, let originalTransactionId
    else { return false }
    return ByteSearch.areEqual(named, originalTransactionId)
  }
}
