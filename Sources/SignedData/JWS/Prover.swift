import Encoding

/// Proves compact JWS: a certificate chain to a trusted root, and the signature of its leaf.
///
/// Keeps promise 3: if `prove` does not throw, the JWS was signed with a key that Apple, or a root
/// that the operator configured, had certified at that time. No mode skips the proof, and no URL in
/// a certificate is ever fetched.
///
/// One for each thread: OpenSSL's contexts and the cache of proven chains are not shared.
public final class Prover {
  /// A proven chain.
  private final class ProvenChain {
    /// The header segment that held the chain.
    let header: [UInt8]
    /// The leaf's key.
    let key: VerifyingKey
    /// The seconds since 1970 at which every certificate of the chain is valid.
    let window: ClosedRange<Int64>
    /// The hash state after the header, which is a third of the bytes of a notification.
    let start: SHA256

    init(header: ArraySlice<UInt8>, key: VerifyingKey, window: ClosedRange<Int64>) {
      self.header = Array(header)
      self.key = key
      self.window = window
      var start = SHA256()
      start.update(header)
      self.start = start
    }
  }

  /// Apple signs with one leaf at a time. A chain takes about 10 KB, and 150 KB more with a key
  /// table.
  private static let maximumChains = 32

  private let pinned: [[UInt8]]
  private let roots: [Certificate]
  /// The most recently used first. A chain is added only after its leaf has signed a JWS, so that
  /// without such a key a client can neither fill the cache nor evict a chain.
  private var chains: [ProvenChain] = []

  /// How often a chain was found in the cache.
  public private(set) var chainHits = 0
  /// How often a chain had to be proven.
  public private(set) var chainMisses = 0

  /// - Throws: `ProofFailure.untrusted` when a configured root is no certificate in strict DER.
  public init(roots: TrustRoots) throws(ProofFailure) {
    pinned = roots.pinned
    var certificates: [Certificate] = []
    for der in roots.certificates { certificates.append(try Certificate(der: der)) }
    self.roots = certificates
  }

  /// Proves that the App Store signed `jws`, with a chain valid at `milliseconds` since 1970.
  ///
  /// - Throws: `ProofFailure.malformed` or `.untrusted`; the payload must not be used then.
  public func prove(_ jws: CompactJWS, at milliseconds: Int64) throws(ProofFailure) {
    _ = try hashOfProven(jws, at: milliseconds)
  }

  /// Like `prove`, and returns the SHA-256 of the whole text, nearly all of which the proof has
  /// hashed already.
  ///
  /// - Throws: `ProofFailure.malformed` or `.untrusted`; the payload must not be used then.
  public func proveHashing(
    _ jws: CompactJWS, at milliseconds: Int64
  ) throws(ProofFailure) -> [UInt8] {
    var hash = try hashOfProven(jws, at: milliseconds)
    hash.update(jws.text[jws.signingInput.endIndex...])
    return hash.finish()
  }

  /// Proves the JWS and returns the hash state after its signing input.
  private func hashOfProven(
    _ jws: CompactJWS, at milliseconds: Int64
  ) throws(ProofFailure) -> SHA256 {
    let seconds = Self.floorSeconds(milliseconds)
    if let chain = recall(jws.header) {
      chainHits += 1
      guard chain.window.contains(seconds) else { throw .untrusted("chain_dates") }
      return try require(chain, jws)
    }
    chainMisses += 1
    let chain = try proveChain(jws.header, at: seconds)
    let hash = try require(chain, jws)
    chains.insert(chain, at: 0)
    if chains.count > Self.maximumChains { chains.removeLast() }
    return hash
  }

  /// Verifies the signature and returns the hash state after the signing input.
  private func require(
    _ chain: ProvenChain, _ jws: CompactJWS
  ) throws(ProofFailure) -> SHA256 {
    var hash = chain.start.fork()
    hash.update(jws.signingInput[jws.header.endIndex...])
    var digest = hash.fork()
    guard chain.key.verifies(jws.signature, over: digest.finish()) else {
      throw .untrusted("signature")
    }
    return hash
  }

  /// The cached chain of a header segment, moved to the front.
  private func recall(_ header: ArraySlice<UInt8>) -> ProvenChain? {
    let index = chains.firstIndex { ByteSearch.areEqual($0.header[...], header) }
    guard let index else { return nil }
    if index > 0 { chains.insert(chains.remove(at: index), at: 0) }
    return chains[0]
  }

  private func proveChain(
    _ segment: ArraySlice<UInt8>, at seconds: Int64
  ) throws(ProofFailure) -> ProvenChain {
    let header = try JWSHeader(parsing: segment)
    let leaf = try Certificate(der: header.certificates[0])
    let intermediate = try Certificate(der: header.certificates[1])
    let third = header.certificates[2]
    var candidates = roots
    if pinned.contains(SHA256.hash(third)) { candidates.insert(try Certificate(der: third), at: 0) }
    let window = try ChainPolicy.prove(
      leaf: leaf, intermediate: intermediate, roots: candidates, at: seconds)
    return ProvenChain(header: segment, key: try VerifyingKey(of: leaf), window: window)
  }

  /// Rounds down, for any number: the date is not proven yet and may be anything.
  private static func floorSeconds(_ milliseconds: Int64) -> Int64 {
    milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
  }
}
