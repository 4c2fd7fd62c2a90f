import Glibc
import Platform
import SignedData

/// The key that tokens must be signed with, and the names that App Store Connect gives it.
///
/// Key id and issuer id follow from the public key, so that nothing but the key is stored.
struct APIKey: Sendable {
  let key: SigningKey
  /// Ten letters and digits.
  let id: String
  /// A UUID.
  let issuer: String

  /// Reads `api.key.pem` in the authority's folder (PEM, PKCS#8, mode 0600), and makes it if there
  /// is none.
  ///
  /// - Throws: `SimulatorError.file` if it cannot be read or made; `.authority` if it is no P-256
  ///   key, or others may read it.
  init(in folder: String) throws(SimulatorError) {
    let path = folder + "/api.key.pem"
    do {
      if access(path, F_OK) != 0 {
        _ = try PrivateFile.make(try SigningKey.generate(.p256).pem(), at: path)
      }
      guard case .bytes(let pem) = try PrivateFile.read(path, limit: 16_384) else {
        throw SigningError.failed("read api.key.pem, which must be a file of mode 0600")
      }
      key = try SigningKey.read(pem: pem)
      guard key.kind == .p256 else { throw SigningError.unknownKey }
      let digest = SHA256.hash(try key.publicKey())
      let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
      id = String(decoding: digest.prefix(10).map { letters[Int($0 & 31)] }, as: UTF8.self)
      issuer = Self.uuid(Array(digest.suffix(16)))
    } catch let error as LedgerError {
      throw .file("read or make", path: path, code: error.number)
    } catch {
      throw .authority(path: folder, error as? SigningError ?? .unknownKey)
    }
  }

  private static func uuid(_ bytes: [UInt8]) -> String {
    var text = ""
    for (index, digit) in Hexadecimal.encode(bytes).enumerated() {
      if [8, 12, 16, 20].contains(index) { text.append("-") }
      text.append(digit)
    }
    return text
  }
}
