public import Platform
import SignedData
public import Store

/// The key that signs a folder's anchors: `anchor.key`, PEM, mode 0600, made once.
///
/// The key can sign any head. An anchor therefore only proves something against the journal's owner
/// if it is stored where the owner cannot modify it, and if the public key was handed over before.
public struct AnchorKey: Sendable {
  let key: Ed25519Key

  /// The key that others check anchors with.
  var publicKey: Ed25519PublicKey { key.publicKey }

  /// The public key in PEM, as `openssl pkey -pubin` reads it.
  public var publicPEM: [UInt8] { publicKey.pem }

  /// The largest file that is read, in bytes; a key has 119.
  private static let limit = 4096

  /// The folder's key; nil if none was made yet. Changes nothing.
  ///
  /// - Throws: `LedgerError.key` if others can use the file, or if it is a link or damaged;
  ///   `LedgerError.anchorFile` if it cannot be read.
  static func read(_ folder: DataFolder) throws(LedgerError) -> AnchorKey? {
    let path = folder.anchorKey
    let found = try mapError(LedgerError.anchorFile, try PrivateFile.read(path, limit: limit))
    switch found {
    case .absent: return nil
    case .noFile: throw .key(path, "is a link or not a file", "put the key itself there")
    case .open:
      throw .key(path, "can be used by others", "chmod 600 it, or move it away to get a new one")
    case .bytes(let pem):
      do throws(SigningError) {
        return AnchorKey(key: try Ed25519Key(pem: pem))
      } catch {
        throw .key(
          path, "is damaged", "put the right key back, or move it away to get a new one")
      }
    }
  }

  /// Reads a public key in PEM from a file that was handed over.
  ///
  /// - Throws: `LedgerError.key` if the file holds no such key; `LedgerError.anchorFile` if it
  ///   cannot be read.
  static func publicKey(inFile path: String) throws(LedgerError) -> Ed25519PublicKey {
    let pem = try mapError(LedgerError.anchorFile, try DurableFile.read(path, limit: limit))
    guard let key = Ed25519PublicKey(pem: pem) else {
      throw .key(
        path, "is not an Ed25519 public key in PEM", "give what `anchor --public-key` printed")
    }
    return key
  }

  /// The folder's key, made if there is none. It is durable when this returns. If two processes
  /// make it at once, both get the key of the first.
  ///
  /// - Throws: What `read(_:)` throws; what the store throws if the folder is a backup;
  ///   `LedgerError.signing` or `LedgerError.anchorFile` if the key cannot be made or written.
  public static func readOrMake(_ folder: DataFolder) throws(LedgerError) -> AnchorKey {
    if let key = try read(folder) { return key }
    // A backup's manifest lists its files, so none may be added.
    try folder.requireNoBackup()
    let pem = try mapError(LedgerError.signing, try Ed25519Key.generate().pem())
    try folder.requireOwner()
    _ = try mapError(LedgerError.anchorFile, try PrivateFile.make(pem, at: folder.anchorKey))
    guard let key = try read(folder) else {
      throw .key(folder.anchorKey, "was removed while it was made", "try again")
    }
    return key
  }
}
