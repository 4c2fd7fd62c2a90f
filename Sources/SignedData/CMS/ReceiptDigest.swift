import COpenSSL
import Platform

/// The digests that the App Store signs receipts with: SHA-1 until 2023 and for some apps until
/// January 2025, SHA-256 since (developer.apple.com/documentation/technotes/tn3138).
enum ReceiptDigest: Sendable {
  case sha1, sha256

  /// - Parameters:
  ///   - digest: the identifier of the digest algorithm.
  ///   - signature: that of the signature: RSA with PKCS#1 v1.5, alone or with the same digest (RFC
  ///     3370 section 3.2).
  /// - Returns: nil for any other algorithm.
  init?(digest: ArraySlice<UInt8>, signature: ArraySlice<UInt8>) {
    typealias Known = ObjectIdentifiers
    if digest.elementsEqual(Known.sha256) {
      guard signature.elementsEqual(Known.rsa) || signature.elementsEqual(Known.sha256WithRSA)
      else { return nil }
      self = .sha256
    } else if digest.elementsEqual(Known.sha1) {
      guard signature.elementsEqual(Known.rsa) || signature.elementsEqual(Known.sha1WithRSA)
      else { return nil }
      self = .sha1
    } else {
      return nil
    }
  }

  /// A pointer to a static table of OpenSSL, never freed.
  private var algorithm: OpaquePointer? {
    switch self {
    case .sha1: EVP_sha1()
    case .sha256: EVP_sha256()
    }
  }

  /// The digest of `bytes`; empty if OpenSSL does not have the algorithm.
  func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var size: UInt32 = 0
      let done = bytes.withUnsafeBytes {
        EVP_Digest($0.baseAddress, $0.count, buffer.baseAddress, &size, algorithm, nil)
      }
      count = done == 1 ? Int(size) : 0
    }
  }

  /// Whether `signature` is one by the certificate's key over `bytes`. Only the result 1 is success
  /// (EVP_DigestVerify(3)).
  func isSigned(
    _ bytes: ArraySlice<UInt8>, _ signature: ArraySlice<UInt8>, by certificate: Certificate
  ) -> Bool {
    guard let key = X509_get0_pubkey(certificate.handle), let context = EVP_MD_CTX_new() else {
      return false
    }
    defer {
      EVP_MD_CTX_free(context)
      ERR_clear_error()
    }
    guard EVP_DigestVerifyInit(context, nil, algorithm, nil, key) == 1 else { return false }
    return signature.withUnsafeBufferPointer { signature in
      bytes.withUnsafeBufferPointer { bytes in
        EVP_DigestVerify(
          context, signature.baseAddress, signature.count, bytes.baseAddress, bytes.count)
      }
    } == 1
  }
}
