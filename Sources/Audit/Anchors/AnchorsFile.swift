public import Ledger
public import Platform
import SignedData
public import Store

/// A file of anchors, one a line, that a journal is compared with.
public struct AnchorsFile: Sendable {
  let path: String
  /// The key that must have signed the anchors.
  let publicKey: Ed25519PublicKey
  /// Whether the configuration names it; such a file may be absent until the daemon writes it.
  let isConfigured: Bool

  /// Names a file of anchors together with the key to check them with. Does not read the file.
  ///
  /// - Parameter keyFile: a file with a public key in PEM; nil for the folder's own key.
  /// - Throws: `LedgerError.key` if there is no usable key, because anchors that cannot be checked
  ///   must not count as checked; `LedgerError.anchorFile` if the key cannot be read.
  public static func open(
    _ path: String, keyFile: String?, of folder: DataFolder, isConfigured: Bool = false
  ) throws(LedgerError) -> AnchorsFile {
    guard let keyFile else {
      guard let key = try AnchorKey.read(folder) else {
        throw .key(
          folder.anchorKey, "is missing, and \(path) cannot be checked without it",
          "put it back, or give --anchor-key PUBLIC.pem")
      }
      return AnchorsFile(path: path, publicKey: key.publicKey, isConfigured: isConfigured)
    }
    return AnchorsFile(
      path: path, publicKey: try AnchorKey.publicKey(inFile: keyFile), isConfigured: isConfigured)
  }

  /// The file that the configuration names. Nil if it names none, or if the file is absent and no
  /// key was made yet, because then nothing can have been signed.
  ///
  /// - Throws: What `open` throws; `LedgerError.anchorFile` if the file's size cannot be read.
  public static func configured(
    _ configuration: Configuration, keyFile: String?
  ) throws(LedgerError) -> AnchorsFile? {
    guard let path = configuration.anchors?.file else { return nil }
    let folder = DataFolder(path: configuration.data)
    let isThere = try mapError(LedgerError.anchorFile, try DurableFile.size(path) != nil)
    if !isThere, keyFile == nil, try AnchorKey.read(folder) == nil { return nil }
    return try open(path, keyFile: keyFile, of: folder, isConfigured: true)
  }
}
