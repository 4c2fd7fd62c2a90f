import Platform

/// Proves compact JWS: a certificate chain to a trusted root, and the signature of its leaf.
///
/// Keeps promise 3: if `prove` does not throw, the JWS was signed with a key that Apple, or a root
/// that the operator configured, had certified at that time. No mode skips the proof, and no URL in
/// a certificate is ever fetched.
///
/// Anyone can send a JWS, so the work before a refusal is bounded: one public-key operation of an
/// authority at most, and none for a chain that was judged before.
///
/// One for each thread: OpenSSL's contexts and the known chains are not shared.
public final class Prover {
  /// Apple uses one header for each leaf.
  private static let maximumHeaders = 32

  private let pinned: [[UInt8]]
  private let roots: [Certificate]
  private var policy = ChainPolicy()
  private var known = ChainMemory()
  /// The most recently used first. A header is added only after the leaf of its chain has signed
  /// it, so that without such a key a client can neither add nor evict one.
  private var headers: [ProvenHeader] = []

  /// How often a chain was known to be proven.
  public private(set) var chainHits = 0
  /// How often a chain was not known and had to be judged.
  public private(set) var chainMisses = 0
  /// How many paths of certificates OpenSSL has validated, the slowest part of a proof.
  package var pathChecks: Int { policy.pathChecks }
  /// How many signatures of certificates were checked besides.
  package var signatureChecks: Int { policy.signatureChecks }
  /// How many of these were refused without OpenSSL's verification.
  package var filteredSignatures: Int { policy.filteredSignatures }

  /// - Throws: `ProofFailure.untrusted` when a configured root is no certificate in strict DER.
  public init(roots: TrustRoots) throws(ProofFailure) {
    pinned = roots.pinned
    var certificates: [Certificate] = []
    for der in roots.certificates { certificates.append(try Certificate(der: der)) }
    self.roots = certificates
  }

  /// What a proof found besides.
  public struct Proof: ~Copyable {
    /// After the signing input, which is nearly the whole text.
    fileprivate let hash: SHA256
    /// SHA-256 of the signing input.
    public let signingInputSHA256: [UInt8]
    /// The rest of the text.
    fileprivate let text: ArraySlice<UInt8>
    /// The seconds since 1970 at which every certificate of the chain is valid.
    fileprivate let window: ClosedRange<Int64>

    /// SHA-256 of the whole text.
    public func bodySHA256() -> [UInt8] {
      var hash = hash.fork()
      hash.update(text)
      return hash.finish()
    }

    /// Requires that the chain is valid at `milliseconds` since 1970.
    ///
    /// - Throws: `ProofFailure.untrusted("chain_dates")`.
    public func requireValid(at milliseconds: Int64) throws(ProofFailure) {
      guard window.contains(Prover.floorSeconds(milliseconds)) else {
        throw .untrusted("chain_dates")
      }
    }
  }

  /// Proves that the App Store signed `jws`.
  ///
  /// - Parameter milliseconds: since 1970, when the chain must be valid; nil for a date that is
  ///   checked later by `Proof.requireValid`.
  /// - Throws: `ProofFailure.malformed` or `.untrusted`; the payload must not be used then.
  @discardableResult
  public func prove(
    _ jws: CompactJWS, at milliseconds: Int64?
  ) throws(ProofFailure) -> Proof {
    let seconds = milliseconds.map(Self.floorSeconds)
    if let header = recall(jws.header) {
      chainHits += 1
      try Self.require(seconds, in: header.chain.window)
      return try prove(jws, header)
    }
    let header = ProvenHeader(jws.header, try chain(of: jws.header, at: seconds))
    let proof = try prove(jws, header)
    headers.insert(header, at: 0)
    if headers.count > Self.maximumHeaders { headers.removeLast() }
    known.moveToFront(header.chain)
    return proof
  }

  private static func require(
    _ seconds: Int64?, in window: ClosedRange<Int64>
  ) throws(ProofFailure) {
    if let seconds, !window.contains(seconds) { throw .untrusted("chain_dates") }
  }

  /// Verifies the signature by the leaf's key.
  private func prove(
    _ jws: CompactJWS, _ header: ProvenHeader
  ) throws(ProofFailure) -> Proof {
    var hash = header.start.fork()
    hash.update(jws.signingInput[jws.header.endIndex...])
    var signed = hash.fork()
    let digest = signed.finish()
    guard header.chain.key.verifies(jws.signature, over: digest) else {
      throw .untrusted("signature")
    }
    return Proof(
      hash: hash, signingInputSHA256: digest, text: jws.text[jws.signingInput.endIndex...],
      window: header.chain.window)
  }

  /// The proven header with this text, moved to the front.
  private func recall(_ text: ArraySlice<UInt8>) -> ProvenHeader? {
    let index = headers.firstIndex { ByteSearch.areEqual($0.text[...], text) }
    guard let index else { return nil }
    if index > 0 { headers.insert(headers.remove(at: index), at: 0) }
    return headers[0]
  }

  // MARK: Chains

  /// The proven chain in a header that was not seen before.
  private func chain(
    of segment: ArraySlice<UInt8>, at seconds: Int64?
  ) throws(ProofFailure) -> ProvenChain {
    var entries = try JWSHeader(parsing: segment).certificates
    guard max(entries[0].count, entries[1].count) <= Certificate.maximumTextBytes else {
      throw .untrusted("certificate_der")
    }
    // Too long for a root: any such text is the same.
    if entries[2].count > Certificate.maximumTextBytes { entries[2] = [] }
    if let chain = known.chain(of: entries) {
      chainHits += 1
      try Self.require(seconds, in: chain.window)
      return chain
    }
    let digest = ChainMemory.digest(of: entries)
    if let failure = known.failure(of: digest) { throw failure }
    chainMisses += 1
    do throws(ProofFailure) {
      let chain = try prove(entries, at: seconds)
      known.insert(chain)
      return chain
    } catch {
      // All other reasons are the same at any date, and with any header.
      if error != .untrusted("chain_dates") { known.insert(error, of: digest) }
      throw error
    }
  }

  private func prove(
    _ entries: [ArraySlice<UInt8>], at seconds: Int64?
  ) throws(ProofFailure) -> ProvenChain {
    var candidates = roots
    if let root = try pinnedRoot(entries[2]) { candidates.insert(root, at: 0) }
    let intermediate = try intermediate(entries[1], of: candidates)
    let leaf = try Certificate(text: entries[0])
    let path = try policy.prove(
      leaf: leaf, intermediate: intermediate, roots: candidates, at: seconds)
    return ProvenChain(
      entries, needsThird: !roots.contains { $0 === path.root },
      key: try VerifyingKey(of: leaf), window: path.window)
  }

  /// The pinned root with this text; nil for any other third entry, which may be anything, as in
  /// Apple's libraries.
  private func pinnedRoot(_ text: ArraySlice<UInt8>) throws(ProofFailure) -> Certificate? {
    if let known = known.root(text) { return known }
    guard let der = Base64.decode(text), pinned.contains(SHA256.hash(der)) else { return nil }
    let root = try Certificate(der: der)
    known.insert(root: root, text)
    return root
  }

  private func intermediate(
    _ text: ArraySlice<UInt8>, of roots: [Certificate]
  ) throws(ProofFailure) -> Certificate {
    if let known = known.intermediate(text) { return known }
    let intermediate = try Certificate(text: text)
    try policy.requireIntermediate(intermediate, of: roots)
    known.insert(intermediate: intermediate, text)
    return intermediate
  }

  /// Rounds down, for any number: the date is not proven yet and may be anything.
  static func floorSeconds(_ milliseconds: Int64) -> Int64 {
    milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0)
  }
}
