import Encoding

/// Proves compact JWS: a certificate chain to a trusted root, and the signature of its leaf.
///
/// Keeps promise 3: what `prove` does not throw at was signed with a key that Apple (or a root the
/// operator configured) vouched for at that moment. There is no mode that skips it, and nothing
/// named in a certificate is ever fetched.
///
/// One per thread: OpenSSL's contexts and the cache of proven chains are not shared.
public final class Prover {
  /// A chain that was proven: its leaf's key, and when the whole chain is valid.
  private final class ProvenChain {
    let header: [UInt8]
    let key: VerifyingKey
    let window: ClosedRange<Int64>
    /// Of the header: a third of what is hashed is the same in every notification.
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

  /// Apple signs with one leaf at a time; a chain here costs about 10 KB, and 150 more with a table
  /// of its key.
  private static let maximumChains = 32

  private let pinned: [[UInt8]]
  private let roots: [Certificate]
  /// Most recently used first. Only chains whose leaf really signed the header they came in get
  /// here, so an outsider can neither fill it nor push anything out of it.
  private var chains: [ProvenChain] = []

  /// How often a chain was found proven already, and how often it had to be proven.
  public private(set) var chainHits = 0
  public private(set) var chainMisses = 0

  public init(roots: TrustRoots) throws(ProofFailure) {
    pinned = roots.pinned
    var certificates: [Certificate] = []
    for der in roots.certificates { certificates.append(try Certificate(der: der)) }
    self.roots = certificates
  }

  /// Proves that `jws` was signed by the App Store with a chain valid at `milliseconds` since 1970.
  ///
  /// - Throws: `ProofFailure`; the payload is to be trusted only where nothing was thrown.
  public func prove(_ jws: CompactJWS, at milliseconds: Int64) throws(ProofFailure) {
    _ = try hashOfProven(jws, at: milliseconds)
  }

  /// As `prove`, and goes on to the SHA-256 of the whole text: nearly all of it was hashed already.
  public func proveHashing(
    _ jws: CompactJWS, at milliseconds: Int64
  ) throws(ProofFailure) -> [UInt8] {
    var hash = try hashOfProven(jws, at: milliseconds)
    hash.update(jws.text[jws.signingInput.endIndex...])
    return hash.finish()
  }

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

  /// The hash of what was signed, unfinished.
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

  /// Rounds down, and for any number at all: an unproven date gets this far.
  private static func floorSeconds(_ milliseconds: Int64) -> Int64 {
    milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
  }
}
