import Encoding
import SignedData

/// What of an event's body the fold reads: the signed payloads, without the signatures around them.
///
/// The journal stores a JWS with its payloads decoded, and kept it only after the stored form was
/// decoded again and compared with the body. Strict base64url is a bijection, so those bytes are
/// what decoding the body gives, and whoever only folds need not encode 18 KB to decode them again.
/// What the bytes were signed with is `verify`'s affair, which reads exact bodies.
public struct JournaledPayload: Sendable {
  public enum Content: Sendable, Equatable {
    /// The outer payload of a JWS. Each nested JWS in it that the journal keeps decoded is replaced
    /// by its number, one digit counting from 0; all others stand there as they were signed.
    case jws(payload: [UInt8], nested: [Nested])
    /// V1: the body itself.
    case json([UInt8])
    /// It cannot be recovered, or is no compact JWS.
    case unreadable
  }

  /// A JWS inside the outer payload.
  public struct Nested: Sendable, Equatable {
    /// Where its number stands in the outer payload. Whatever stands elsewhere is no number of
    /// ours, whatever it looks like.
    public let place: Int
    /// Its decoded payload.
    public let payload: [UInt8]
  }

  public let seq: Int64
  public let source: String
  /// The 16 bytes as two big-endian numbers; nil where the column has another length.
  public let uuid: (high: UInt64, low: UInt64)?
  public let content: Content
  /// What `content` was made of, where that has nested ones.
  private let unfolded: JWSParts?

  /// The outer payload exactly as it was signed: where a nested JWS is no whole value of a member
  /// that is opened, its number must not be taken for what was signed.
  public var exactPayload: [UInt8]? {
    if case .unreadable = content { return nil }
    guard let unfolded else {
      guard case .jws(let payload, _) = content else { return nil }
      return payload
    }
    return unfolded.payload()
  }

  init(
    seq: Int64, source: String, uuid: (high: UInt64, low: UInt64)?, content: Content,
    unfolded: JWSParts?
  ) {
    self.seq = seq
    self.source = source
    self.uuid = uuid
    self.content = content
    self.unfolded = unfolded
  }

  /// The same of an event whose body is at hand already.
  public init(_ event: StoredEvent) {
    let uuid = NotificationUUID.bytes(event.notificationUUID).flatMap(NotificationUUID.halves)
    self.init(
      seq: event.seq, source: event.source, uuid: uuid,
      content: Content(body: event.body, source: event.source), unfolded: nil)
  }
}

extension JournaledPayload.Content {
  static let v1 = "v1"

  /// Of an exact body.
  init(body: [UInt8], source: String) {
    if source == Self.v1 {
      self = .json(body)
    } else if let jws = try? CompactJWS(parsing: body[...]) {
      self = .jws(payload: jws.payload, nested: [])
    } else {
      self = .unreadable
    }
  }

  /// Of a JWS the journal keeps apart. Answers as reading the body it folds to would answer, also
  /// where the file was tampered with: only where the two could differ the body is made.
  ///
  /// - Parameter plain: a header that was found to be plain; the next one is mostly the same.
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
        JournaledPayload.Nested(place: payload.count, payload: Array(jws.text[start..<at])))
      payload.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: nested.count - 1))
    }
    payload += jws.text[at...]
    self = .jws(payload: payload, nested: nested)
  }

  /// Whether a JSON string may hold this header as it is, and a compact JWS be cut behind it: what
  /// was proven has base64url there and nothing else.
  private static func isPlain(_ header: ArraySlice<UInt8>, _ known: inout [UInt8]) -> Bool {
    if ByteSearch.areEqual(header, known[...]), !known.isEmpty { return true }
    guard isPlain(header) else { return false }
    known = Array(header)
    return true
  }

  private static func isPlain(_ header: ArraySlice<UInt8>) -> Bool {
    guard !header.isEmpty, header.count <= CompactJWS.maximumHeaderBytes else { return false }
    // No early exit, and one bit for all questions: so the loop looks at sixteen bytes at once.
    // What is 0 before 1 is subtracted, or below 0x21, gets the high bit.
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
