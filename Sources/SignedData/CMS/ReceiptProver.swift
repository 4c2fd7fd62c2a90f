import Platform

/// Proves App Store receipts offline: the chain of the signer to a trusted root, and its signature.
///
/// Keeps promise 3 for receipts, as `Prover` does for JWS. The chain must be valid at the date that
/// the receipt names as that of its creation, because a receipt is proven years after its
/// certificates have expired (developer.apple.com/documentation/appstorereceipts, "Validating
/// receipts on the device"). The hash over a device's identifier is not checked: a server has no
/// device. Nothing is fetched.
///
/// One for each thread.
public final class ReceiptProver {
  /// Apple signs with one certificate for years.
  private static let maximumChains = 8

  private let pinned: [[UInt8]]
  private let roots: [Certificate]
  private var policy = ChainPolicy(.receipt)
  /// The most recently used first.
  private var known: [Chain] = []

  /// A proven chain, by the certificates of the messages that had it.
  private struct Chain {
    let certificates: [ArraySlice<UInt8>]
    let leaf: Certificate
    /// The seconds since 1970 at which every certificate is valid.
    let window: ClosedRange<Int64>
  }

  /// - Throws: `ProofFailure.untrusted` when a configured root is no certificate in strict DER.
  public init(roots: TrustRoots) throws(ProofFailure) {
    pinned = roots.receiptPins
    var certificates: [Certificate] = []
    for der in roots.certificates { certificates.append(try Certificate(der: der)) }
    self.roots = certificates
  }

  /// Proves that the App Store signed the content of `message`.
  ///
  /// - Parameter milliseconds: since 1970, when the chain must be valid.
  /// - Throws: `ProofFailure.untrusted`; the content must not be used then.
  public func prove(_ message: SignedMessage, at milliseconds: Int64) throws(ProofFailure) {
    guard let digest = message.signer.digest else { throw .untrusted("receipt_algorithm") }
    let seconds = Prover.floorSeconds(milliseconds)
    let chain = try chain(of: message, at: seconds)
    guard chain.window.contains(seconds) else { throw .untrusted("chain_dates") }
    var signed = message.content
    if let attributes = message.signer.attributes {
      guard ByteSearch.areEqual(digest.hash(signed)[...], attributes.messageDigest) else {
        throw .untrusted("signature")
      }
      signed = attributes.signed[...]
    }
    guard digest.isSigned(signed, message.signer.signature, by: chain.leaf) else {
      throw .untrusted("signature")
    }
    remember(chain)
  }

  private func chain(
    of message: SignedMessage, at seconds: Int64
  ) throws(ProofFailure) -> Chain {
    let known = known.first { chain in
      message.signer.names(chain.leaf.der[...])
        && chain.certificates.elementsEqual(message.certificates, by: ByteSearch.areEqual)
    }
    if let known { return known }
    guard let signer = message.certificates.firstIndex(where: message.signer.names) else {
      throw .untrusted("receipt_signer")
    }
    let leaf = try Certificate(der: Array(message.certificates[signer]))
    var (roots, others): ([Certificate], [Certificate]) = (roots, [])
    for (index, der) in message.certificates.enumerated() where index != signer {
      let certificate = try Certificate(der: Array(der))
      if pinned.contains(SHA256.hash(certificate.der)) {
        roots.insert(certificate, at: 0)
      } else if leaf.names(certificate) {
        others.append(certificate)
      }
    }
    var failure = ProofFailure.untrusted(roots.isEmpty ? "chain_root" : "chain_path")
    for intermediate in others {
      do throws(ProofFailure) {
        try policy.requireIntermediate(intermediate, of: roots)
        let path = try policy.prove(
          leaf: leaf, intermediate: intermediate, roots: roots, at: seconds)
        return Chain(certificates: message.certificates, leaf: leaf, window: path.window)
      } catch {
        failure = error
      }
    }
    throw failure
  }

  /// A chain is remembered once its leaf has signed: without such a key nobody can evict another.
  private func remember(_ chain: Chain) {
    known.removeAll { $0.leaf === chain.leaf }
    // Copied, because a slice would keep the whole message.
    let certificates = chain.certificates.map { Array($0)[...] }
    known.insert(
      Chain(certificates: certificates, leaf: chain.leaf, window: chain.window), at: 0)
    if known.count > Self.maximumChains { known.removeLast() }
  }
}
