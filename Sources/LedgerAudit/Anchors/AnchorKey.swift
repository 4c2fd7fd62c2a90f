public import JournalStore
import Platform
public import SignedData

/// The key that a folder's anchors are signed with: `anchor.key`, PEM, mode 0600, made once.
///
/// Whoever has it can sign any head. What an anchor proves against its owner it proves by lying
/// where the owner cannot change it, with a public key that was handed over before.
public struct AnchorKey: Sendable {
  let key: Ed25519Key

  /// What others check anchors with.
  public var publicKey: Ed25519PublicKey { key.publicKey }

  /// The same in PEM, as `openssl pkey -pubin` reads it.
  public var publicPEM: [UInt8] { publicKey.pem }

  /// Bytes of the file at most; a key has 119.
  private static let limit = 4096

  /// The folder's key; nil where none was made yet. Changes nothing.
  ///
  /// - Throws: `key` where others can read the file, or it is a link or damaged; `platform`.
  public static func read(_ folder: DataFolder) throws(AnchorError) -> AnchorKey? {
    let path = folder.anchorKey
    let found = try AnchorError.platform { () throws(PlatformError) in
      try PrivateFile.read(path, limit: limit)
    }
    switch found {
    case .absent: return nil
    case .noFile: throw .key(path, "is a link or no file", "put the key itself there")
    case .open:
      throw .key(path, "can be used by others", "chmod 600 it, or move it away for a new one")
    case .bytes(let pem):
      do throws(SigningError) {
        return AnchorKey(key: try Ed25519Key(pem: pem))
      } catch {
        throw .key(
          path, "is damaged", "put the right key back, or move it away for a new one")
      }
    }
  }

  /// The public key that somebody handed over, in PEM.
  ///
  /// - Throws: `key` where the file holds none; `platform`.
  static func publicKey(inFile path: String) throws(AnchorError) -> Ed25519PublicKey {
    let pem = try AnchorError.platform { () throws(PlatformError) in
      try DurableFile.read(path, limit: limit)
    }
    guard let key = Ed25519PublicKey(pem: pem) else {
      throw .key(path, "is no Ed25519 public key in PEM", "give what `anchor --public-key` printed")
    }
    return key
  }

  /// The folder's key, made where there is none: durable when this returns. Of two who make it at
  /// once one is first, and both get that one's.
  public static func readOrMake(_ folder: DataFolder) throws(AnchorError) -> AnchorKey {
    if let key = try read(folder) { return key }
    // What a backup holds was decided when it was made.
    try AnchorError.store { () throws(StoreError) in try folder.requireNoBackup() }
    let pem = try AnchorError.signing { () throws(SigningError) in
      try Ed25519Key.generate().pem()
    }
    _ = try AnchorError.platform { () throws(PlatformError) in
      try PrivateFile.make(pem, at: folder.anchorKey)
    }
    guard let key = try read(folder) else {
      throw .key(folder.anchorKey, "was removed while it was made", "try again")
    }
    return key
  }
}

/// Why there is no anchor. The description carries the next step.
public enum AnchorError: Error, Sendable, CustomStringConvertible {
  case store(StoreError)
  /// A key's file: what is wrong with it, and what to do.
  case key(_ path: String, _ problem: String, _ next: String)
  /// The file that anchors are kept in, or the key's: what was attempted, and errno.
  case platform(_ attempt: String, _ code: Int32)
  case signing(SigningError)

  public var description: String {
    switch self {
    case .store(let error): error.description
    case .key(let path, let problem, let next): "\(path) \(problem); \(next)"
    case .platform(let attempt, let code):
      "\(PlatformError.system(attempt, code)); check the path, its owner and its volume"
    case .signing(let error): "\(error); try again"
    }
  }

  static func store<Value>(_ step: () throws(StoreError) -> Value) throws(AnchorError) -> Value {
    do throws(StoreError) { return try step() } catch { throw .store(error) }
  }

  static func platform<Value>(
    _ step: () throws(PlatformError) -> Value
  ) throws(AnchorError) -> Value {
    do throws(PlatformError) { return try step() } catch { throw AnchorError(error) }
  }

  init(_ error: PlatformError) {
    switch error {
    case .system(let attempt, let code): self = .platform(attempt, code)
    }
  }

  static func signing<Value>(
    _ step: () throws(SigningError) -> Value
  ) throws(AnchorError) -> Value {
    do throws(SigningError) { return try step() } catch { throw .signing(error) }
  }
}
