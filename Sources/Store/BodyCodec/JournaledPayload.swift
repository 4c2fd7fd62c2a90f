public import AppStore
import Platform
import SignedData

/// The part of an event's body that the fold reads: the signed payloads without their signatures.
///
/// The journal stores a JWS with its payloads decoded, after the stored form was decoded again and
/// compared with the body. Strict base64url is a bijection, so these bytes are what decoding the
/// body gives. The fold therefore need not encode 18 KB only to decode them again. `verify` reads
/// exact bodies and checks the signatures.
public struct JournaledPayload: Sendable {
  /// The payloads in decoded form.
  public enum Content: Sendable, Equatable {
    /// The outer payload of a JWS. Each nested JWS that the journal stores decoded is replaced by
    /// its number, one digit counting from 0; any other nested JWS is unchanged.
    case jws(payload: [UInt8], nested: [Nested])
    /// The body of a V1 event, and the original transaction id that it was filed under.
    case json([UInt8], of: String?)
    /// A receipt, and which of its original transaction ids the event is about.
    case receipt(ReceiptBody, of: String)
    /// What the owner said, which the fold does not read.
    case statement(OwnerStatement)
    /// The body cannot be recovered, or is not a compact JWS.
    case unreadable
  }

  /// A JWS inside the outer payload.
  public struct Nested: Sendable, Equatable {
    /// The offset of its number in the outer payload. A digit at any other offset is part of the
    /// payload itself.
    public let offset: Int
    /// Its decoded payload.
    public let payload: [UInt8]
  }

  public let seq: Int64
  public let source: EventSource
  /// Nil where the column is damaged and has another length.
  public let uuid: NotificationUUID?
  public let content: Content
  /// The source of `content`, if it has nested JWS.
  private let parts: JWSParts?

  /// The outer payload exactly as it was signed. Needed when a nested JWS is not the whole value of
  /// a member that the fold reads: its number must not be mistaken for signed content.
  public var exactPayload: [UInt8]? {
    if case .unreadable = content { return nil }
    guard let parts else {
      guard case .jws(let payload, _) = content else { return nil }
      return payload
    }
    return parts.payload()
  }

  init(
    seq: Int64, source: EventSource, uuid: NotificationUUID?, content: Content,
    parts: JWSParts?
  ) {
    self.seq = seq
    self.source = source
    self.uuid = uuid
    self.content = content
    self.parts = parts
  }

  /// The payload of an event whose body has been read.
  public init(_ event: StoredEvent) {
    self.init(
      seq: event.seq, source: event.source, uuid: event.notificationUUID,
      content: Content(
        body: event.body, source: event.source,
        originalTransactionId: event.originalTransactionId), parts: nil)
  }
}

extension JournaledPayload.Content {
  /// Makes the content from an exact body.
  ///
  /// - Parameter originalTransactionId: of the event, which a receipt alone does not say, and a V1
  ///   body need not.
  init(body: [UInt8], source: EventSource, originalTransactionId: String?) {
    if source.form == .v1 {
      self = .json(body, of: originalTransactionId)
    } else if source.form == .receipt {
      let receipt = ReceiptBody(stored: body)
      self = receipt.map { .receipt($0, of: originalTransactionId ?? "") } ?? .unreadable
    } else if source.form == .statement {
      self = OwnerStatement(body: body).map { .statement($0) } ?? .unreadable
    } else if let jws = try? CompactJWS(parsing: body[...]) {
      self = .jws(payload: jws.payload, nested: [])
    } else {
      self = .unreadable
    }
  }

  /// Makes the content from a stored JWS. The result is the same as from the exact body, even if
  /// the file was tampered with: where the two could differ, the payload is reassembled.
  ///
  /// - Parameter plain: the last header that `isPlain` accepted, as a cache.
  init(_ jws: JWSParts, _ plain: inout [UInt8]) {
    guard jws.isWhole, jws.header.count <= CompactJWS.maximumHeaderBytes, !jws.header.isEmpty,
      ByteSearch.first(UInt8(ascii: "."), in: jws.header) == nil
    else {
      self = .unreadable
      return
    }
    var payload: [UInt8] = []
    payload.reserveCapacity(jws.text.count)
    var nested: [JournaledPayload.Nested] = []
    nested.reserveCapacity(jws.nested.count)
    var at = 0
    for part in jws.nested {
      let header = at + part.gapCount
      guard Self.isPlain(jws.headerOf(part, at: header), &plain) else {
        self = jws.payload().map { .jws(payload: $0, nested: []) } ?? .unreadable
        return
      }
      payload += jws.text[at..<header]
      let start = header + part.headerCount
      at = start + part.payloadCount
      nested.append(
        JournaledPayload.Nested(offset: payload.count, payload: Array(jws.text[start..<at])))
      payload.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: nested.count - 1))
    }
    payload += jws.text[at...]
    self = .jws(payload: payload, nested: nested)
  }

  /// Whether a header can stand in a JSON string without escapes and contains no dot that would end
  /// the segment. A proven header is base64url and always passes.
  private static func isPlain(_ header: ArraySlice<UInt8>, _ known: inout [UInt8]) -> Bool {
    if ByteSearch.areEqual(header, known[...]), !known.isEmpty { return true }
    guard isPlain(header) else { return false }
    known = Array(header)
    return true
  }

  private static func isPlain(_ header: ArraySlice<UInt8>) -> Bool {
    guard !header.isEmpty, header.count <= CompactJWS.maximumHeaderBytes else { return false }
    // All conditions are combined in one bit without an early exit, so that the compiler can
    // process sixteen bytes at once. Subtracting sets the high bit of a value that was 0 or below
    // 0x21.
    var found: UInt8 = 0
    header.withUnsafeBufferPointer { bytes in
      for byte in bytes {
        found |= byte | (byte &- 0x21) | ((byte ^ UInt8(ascii: "\"")) &- 1)
        found |= ((byte ^ UInt8(ascii: "\\")) &- 1) | ((byte ^ UInt8(ascii: ".")) &- 1)
      }
    }
    return found & 0x80 == 0
  }
}
