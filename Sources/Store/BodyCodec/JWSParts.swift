import Platform
import SignedData

/// A compact JWS (RFC 7515 section 7.1) taken apart so that it compresses well.
///
/// Base64url hides repetition, and a signature has none. Therefore the payload and the payloads of
/// the JWS strings in it are decoded, the signatures are stored separately, and a nested JWS with
/// the same header as the outer one, as all of Apple's have, is stored without it. Strict base64url
/// is a bijection, so reassembling gives the same bytes.
struct JWSParts: Sendable {
  /// The outer header segment, still encoded.
  var header: ArraySlice<UInt8>
  /// For each nested JWS: the bytes before it (the gap), its header segment if it differs from the
  /// outer one, and its decoded payload. After them the rest of the outer payload (the tail).
  var text: [UInt8] = []
  /// The signatures of the nested JWS in their order, then that of the outer one.
  var signatures: [ArraySlice<UInt8>] = []
  var nested: [Nested] = []
  var tailCount = 0

  struct Nested: Equatable, Sendable {
    var gapCount: Int
    /// 0 if the header is the same as the outer one.
    var headerCount: Int
    var payloadCount: Int
  }

  /// In bytes. Bounds the memory that a tampered file can make a reader use.
  static let maximumText = 8 << 20
  private static let maximumNested = 8
  private static let dot = UInt8(ascii: ".")
  private static let quote = UInt8(ascii: "\"")
  private static let opening: [UInt8] = Array("eyJ".utf8)
}

extension JWSParts {
  init(_ jws: CompactJWS) {
    header = jws.header
    text.reserveCapacity(4_096)
    let payload = jws.payload
    var splitEnd = 0
    var searched = 0
    while nested.count < Self.maximumNested,
      let start = Self.nextHeader(in: payload, from: searched)
    {
      let end = ByteSearch.first(Self.quote, in: payload[start...]) ?? payload.count
      searched = end
      guard addNested(payload[start..<end], after: payload[splitEnd..<start]) else { continue }
      splitEnd = end
    }
    tailCount = payload.count - splitEnd
    text += payload[splitEnd...]
    signatures.append(jws.signature[...])
  }

  /// The start of the next string that looks like a JWS: `{"` in base64url is `eyJ`.
  private static func nextHeader(in payload: [UInt8], from: Int) -> Int? {
    var at = from
    while let match = ByteSearch.first(quote, in: payload[...], from: at) {
      at = match + 1
      if at + 3 <= payload.count, payload[at] == opening[0], payload[at + 1] == opening[1],
        payload[at + 2] == opening[2]
      {
        return at
      }
    }
    return nil
  }

  /// Adds a nested JWS. Returns false and changes nothing if the string is not a compact JWS.
  private mutating func addNested(_ jws: ArraySlice<UInt8>, after gap: ArraySlice<UInt8>) -> Bool {
    guard let inner = Segments(jws), let signature = Base64URL.decode(inner.signature) else {
      return false
    }
    let start = text.count
    text += gap
    let isShared = ByteSearch.areEqual(inner.header, header)
    if !isShared { text += inner.header }
    let payloadStart = text.count
    guard Base64URL.append(decoding: inner.payload, to: &text) else {
      text.removeLast(text.count - start)
      return false
    }
    nested.append(
      Nested(
        gapCount: gap.count, headerCount: isShared ? 0 : inner.header.count,
        payloadCount: text.count - payloadStart))
    signatures.append(signature[...])
    return true
  }

  /// The body. Returns nil if the counts do not match the text.
  func reassembled() -> [UInt8]? {
    guard let payload = payload() else { return nil }
    var body: [UInt8] = []
    body.reserveCapacity(header.count + payload.count * 4 / 3 + 128)
    body += header
    body.append(Self.dot)
    Base64URL.append(encoding: payload[...], to: &body)
    body.append(Self.dot)
    Base64URL.append(encoding: signatures[nested.count], to: &body)
    return body
  }

  /// The decoded outer payload. Returns nil if the counts do not match the text.
  func payload() -> [UInt8]? {
    guard isWhole else { return nil }
    var payload: [UInt8] = []
    payload.reserveCapacity(text.count * 2 + nested.count * (header.count + 128))
    var at = 0
    for (index, part) in nested.enumerated() {
      let gapEnd = at + part.gapCount
      payload += text[at..<gapEnd]
      payload += headerOf(part, at: gapEnd)
      payload.append(Self.dot)
      let start = gapEnd + part.headerCount
      at = start + part.payloadCount
      Base64URL.append(encoding: text[start..<at], to: &payload)
      payload.append(Self.dot)
      Base64URL.append(encoding: signatures[index], to: &payload)
    }
    payload += text[at...]
    return payload
  }

  /// The header of a nested JWS. `offset` is the end of its gap in the text.
  func headerOf(_ part: Nested, at offset: Int) -> ArraySlice<UInt8> {
    part.headerCount == 0 ? header : text[offset..<offset + part.headerCount]
  }

  /// Whether `reassembled()` would return the text of `jws`. Compares decoded bytes, because strict
  /// base64url has exactly one text for them.
  func reassembles(to jws: CompactJWS) -> Bool {
    guard let payload = payload(), let signature = signatures.last else { return false }
    return ByteSearch.areEqual(header, jws.header)
      && ByteSearch.areEqual(payload[...], jws.payload[...])
      && ByteSearch.areEqual(signature, jws.signature[...])
  }

  /// Whether the counts match the text and the signatures.
  var isWhole: Bool { signatures.count == nested.count + 1 && textCount == text.count }

  /// The sum of the counts, or nil if it exceeds `maximumText`.
  var textCount: Int? {
    guard var sum = Self.sum(tailCount, 0) else { return nil }
    for part in nested {
      guard let counts = Self.sum(part.gapCount, part.headerCount, part.payloadCount) else {
        return nil
      }
      sum += counts
    }
    return sum <= Self.maximumText ? sum : nil
  }

  private static func sum(_ one: Int, _ two: Int, _ three: Int = 0) -> Int? {
    let bounds = 0...maximumText
    guard bounds.contains(one), bounds.contains(two), bounds.contains(three) else { return nil }
    return one + two + three
  }
}

// MARK: - The frame

extension JWSParts {
  /// Appends the counts and signatures, which are stored before the compressed text.
  ///
  /// - Parameter headerCount: the length of the outer header if the text begins with it, otherwise
  ///   0.
  func appendFrame(to bytes: inout [UInt8], headerCount: Int) {
    VarInt.append(nested.count, to: &bytes)
    VarInt.append(headerCount, to: &bytes)
    for part in nested {
      VarInt.append(part.gapCount, to: &bytes)
      VarInt.append(part.headerCount, to: &bytes)
      VarInt.append(part.payloadCount, to: &bytes)
    }
    VarInt.append(tailCount, to: &bytes)
    for signature in signatures {
      VarInt.append(signature.count, to: &bytes)
      bytes += signature
    }
  }

  /// Reads what `appendFrame` wrote and removes it from `bytes`. Returns nil if it is damaged.
  ///
  /// - Parameters:
  ///   - header: the outer header, for a frame that says that the text does not begin with it.
  ///   - headerCount: set to the length of the outer header at the beginning of the text.
  init?(frame bytes: inout ArraySlice<UInt8>, header: [UInt8], headerCount: inout Int) {
    guard let count = VarInt.read(&bytes), count <= Self.maximumNested,
      let own = VarInt.read(&bytes), own > 0 || !header.isEmpty
    else { return nil }
    self.header = header[...]
    headerCount = own
    for _ in 0..<count {
      guard let gap = VarInt.read(&bytes), let header = VarInt.read(&bytes),
        let payload = VarInt.read(&bytes)
      else { return nil }
      nested.append(Nested(gapCount: gap, headerCount: header, payloadCount: payload))
    }
    guard let tail = VarInt.read(&bytes) else { return nil }
    tailCount = tail
    for _ in 0...count {
      guard let size = VarInt.read(&bytes), size <= bytes.count else { return nil }
      signatures.append(bytes.prefix(size))
      bytes = bytes.dropFirst(size)
    }
  }
}

/// The three segments of a compact JWS, not decoded.
private struct Segments {
  let header: ArraySlice<UInt8>
  let payload: ArraySlice<UInt8>
  let signature: ArraySlice<UInt8>

  init?(_ jws: ArraySlice<UInt8>) {
    let dot = UInt8(ascii: ".")
    guard let first = ByteSearch.first(dot, in: jws),
      let second = ByteSearch.first(dot, in: jws, from: first + 1),
      ByteSearch.first(dot, in: jws, from: second + 1) == nil
    else { return nil }
    header = jws[..<first]
    payload = jws[(first + 1)..<second]
    signature = jws[(second + 1)...]
  }
}
