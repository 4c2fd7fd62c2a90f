import Platform

/// The certificate chains of which a prover knows whether they are proven.
///
/// Found by the certificates alone, not by the header that held them: anyone can write a new header
/// around Apple's chain, which is public. One entry of `x5c` has one text (`Base64`), so that texts
/// are compared instead of certificates.
struct ChainMemory {
  /// Apple signs with one leaf at a time. A chain takes about 10 KB, and 150 KB more with a key
  /// table.
  static let maximumProven = 32
  /// Each takes 300 KB more with a signature filter, which only forged certificates cause.
  static let maximumIntermediates = 16
  /// Refused chains take 100 bytes each.
  static let maximumRefused = 128

  /// Those whose leaf has signed something come first, the most recent of them at the front. A new
  /// chain replaces the last one. So without such a key a client can evict one chain at most.
  private var proven: [ProvenChain] = []
  private typealias Known = (text: [UInt8], certificate: Certificate)
  /// Pinned roots, by their text: at most as many as there are pins.
  private var roots: [Known] = []
  /// Certificates that a trusted root signed, by their text, the oldest first. Of these there are
  /// only as many as the root's owner made.
  private var intermediates: [Known] = []
  /// Why chains were refused, by `digest`.
  private var refused: [[UInt8]: ProofFailure] = [:]
  /// The keys of `refused`, of which the one at `oldest` is replaced next.
  private var digests: [[UInt8]] = []
  private var oldest = 0

  /// The proven chain of these entries of `x5c`; nil if there is none.
  func chain(of entries: [ArraySlice<UInt8>]) -> ProvenChain? {
    proven.first { $0.isChain(of: entries) }
  }

  /// The known intermediate certificate with this text; nil if there is none.
  func intermediate(_ text: ArraySlice<UInt8>) -> Certificate? {
    intermediates.first { ByteSearch.areEqual($0.text[...], text) }?.certificate
  }

  /// The known pinned root with this text; nil if there is none.
  func root(_ text: ArraySlice<UInt8>) -> Certificate? {
    roots.first { ByteSearch.areEqual($0.text[...], text) }?.certificate
  }

  mutating func insert(root: Certificate, _ text: ArraySlice<UInt8>) {
    roots.append((Array(text), root))
  }

  mutating func insert(intermediate: Certificate, _ text: ArraySlice<UInt8>) {
    if intermediates.count == Self.maximumIntermediates { intermediates.removeFirst() }
    intermediates.append((Array(text), intermediate))
  }

  mutating func insert(_ chain: ProvenChain) {
    if proven.count == Self.maximumProven { proven.removeLast() }
    proven.append(chain)
  }

  /// Records that the chain's leaf has signed a JWS.
  mutating func moveToFront(_ chain: ProvenChain) {
    guard let index = proven.firstIndex(where: { $0 === chain }), index > 0 else { return }
    proven.insert(proven.remove(at: index), at: 0)
  }

  /// What identifies a chain among the refused ones.
  static func digest(of entries: [ArraySlice<UInt8>]) -> [UInt8] {
    var hash = SHA256()
    for entry in entries {
      hash.update(entry)
      hash.update([UInt8(ascii: ",")])
    }
    return hash.finish()
  }

  /// Why the chain with this digest was refused; nil if it is not known.
  func failure(of digest: [UInt8]) -> ProofFailure? { refused[digest] }

  /// Remembers a refusal, in place of the oldest one.
  mutating func insert(_ failure: ProofFailure, of digest: [UInt8]) {
    if digests.count < Self.maximumRefused {
      digests.append(digest)
    } else {
      refused[digests[oldest]] = nil
      digests[oldest] = digest
      oldest = (oldest + 1) % Self.maximumRefused
    }
    refused[digest] = failure
  }
}

/// A chain that leads to a trusted root.
final class ProvenChain {
  /// The texts of leaf, intermediate and third certificate in `x5c`.
  let entries: [ArraySlice<UInt8>]
  /// Whether the third certificate is the root. A configured root proves a chain with any third.
  let needsThird: Bool
  /// The leaf's key.
  let key: VerifyingKey
  /// The seconds since 1970 at which every certificate of the chain is valid.
  let window: ClosedRange<Int64>

  init(
    _ entries: [ArraySlice<UInt8>], needsThird: Bool, key: VerifyingKey,
    window: ClosedRange<Int64>
  ) {
    // Copies, because the slices hold the whole header.
    self.entries = entries.map { Array($0)[...] }
    self.needsThird = needsThird
    self.key = key
    self.window = window
  }

  func isChain(of others: [ArraySlice<UInt8>]) -> Bool {
    ByteSearch.areEqual(entries[0], others[0]) && ByteSearch.areEqual(entries[1], others[1])
      && (!needsThird || ByteSearch.areEqual(entries[2], others[2]))
  }
}

/// A header segment whose chain is proven, and which the chain's leaf has signed.
final class ProvenHeader {
  let text: [UInt8]
  let chain: ProvenChain
  /// The hash state after the header, which is a third of the bytes of a notification.
  let start: SHA256

  init(_ text: ArraySlice<UInt8>, _ chain: ProvenChain) {
    self.text = Array(text)
    self.chain = chain
    var start = SHA256()
    start.update(text)
    self.start = start
  }
}
