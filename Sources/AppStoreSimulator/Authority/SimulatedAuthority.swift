import Glibc
import Platform
public import SignedData
public import StrictJSON

/// The simulated counterpart of Apple's certificate authority: a chain of three certificates and
/// their keys.
///
/// The root's key is stored too, so that further leaves can be made by hand. With the folder anyone
/// can sign notifications that a service accepts if it trusts this root.
public struct SimulatedAuthority: Sendable {
  /// The root certificate in DER, which a service is configured to trust.
  public let root: [UInt8]
  /// Leaf, intermediate, root, in DER, as in x5c.
  public let chain: [[UInt8]]
  /// The leaf's key, which signs anything, to test wrong headers and payloads.
  public let leafKey: SigningKey
  /// Nil for a folder without its file: no certificate can be made then.
  private let intermediateKey: SigningKey?
  private let signer: JWSSigner

  /// The keys of a new chain; only the leaf's is needed once the chain is written.
  private struct Keys {
    let root: SigningKey
    let intermediate: SigningKey
    let leaf: SigningKey
  }

  private init(chain: [[UInt8]], leafKey: SigningKey, intermediateKey: SigningKey?) {
    self.chain = chain
    self.leafKey = leafKey
    self.intermediateKey = intermediateKey
    root = chain.last ?? []
    signer = JWSSigner(key: leafKey, chain: chain)
  }

  /// A new authority that exists only in memory.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot make the keys or certificates.
  public static func make() throws(SigningError) -> SimulatedAuthority { try makeWithKeys().0 }

  private static func makeWithKeys() throws(SigningError) -> (SimulatedAuthority, Keys) {
    let keys = Keys(
      root: try .generate(.p384), intermediate: try .generate(.p384), leaf: try .generate(.p256))
    let root = try CertificateMaker.root(keys.root)
    let intermediate = try CertificateMaker.intermediate(
      keys.intermediate, issuer: root, issuerKey: keys.root)
    let leaf = try CertificateMaker.leaf(
      keys.leaf, issuer: intermediate, issuerKey: keys.intermediate)
    let chain = [
      try leaf.make(for: keys.leaf, signedBy: keys.intermediate),
      try intermediate.make(for: keys.intermediate, signedBy: keys.root),
      try root.make(for: keys.root, signedBy: keys.root),
    ]
    let authority = SimulatedAuthority(
      chain: chain, leafKey: keys.leaf, intermediateKey: keys.intermediate)
    return (authority, keys)
  }

  // MARK: Folder

  /// Makes a new authority in a new folder of mode 0700: `root.der`, the chain in PEM, and the keys
  /// in PEM, files of mode 0600.
  ///
  /// - Throws: `SimulatorError.exists` if the folder is not empty; `.file` if the folder or a file
  ///   cannot be written; `.signing` if OpenSSL cannot make the keys or certificates.
  public static func create(at folder: String) throws(SimulatorError) -> SimulatedAuthority {
    let (authority, files) = try mapError(SimulatorError.signing) { () throws(SigningError) in
      let (authority, keys) = try makeWithKeys()
      return (
        authority,
        [
          ("root.key.pem", try keys.root.pem()),
          ("intermediate.key.pem", try keys.intermediate.pem()),
          ("leaf.key.pem", try keys.leaf.pem()),
          ("leaf.pem", CertificateMaker.pem(authority.chain[0])),
          ("intermediate.pem", CertificateMaker.pem(authority.chain[1])),
          ("root.pem", CertificateMaker.pem(authority.root)), ("root.der", authority.root),
        ]
      )
    }
    // An empty folder may exist already.
    if mkdir(folder, 0o700) != 0 {
      guard errno == EEXIST else { throw .file("make", path: folder, code: errno) }
      guard rmdir(folder) == 0, mkdir(folder, 0o700) == 0 else { throw .exists(path: folder) }
    }
    for (name, bytes) in files {
      do throws(LedgerError) { try DurableFile.write(bytes, to: "\(folder)/\(name)") } catch {
        throw .file("make", "\(folder)/\(name)", error)
      }
    }
    return authority
  }

  /// The authority of a folder; made if the folder holds none.
  ///
  /// - Throws: as `load` and `create`.
  public static func inFolder(_ folder: String) throws(SimulatorError) -> SimulatedAuthority {
    exists(at: folder) ? try load(from: folder) : try create(at: folder)
  }

  /// Whether a folder holds an authority.
  public static func exists(at folder: String) -> Bool {
    access(folder + "/leaf.key.pem", F_OK) == 0
  }

  /// Reads an authority that `create` made.
  ///
  /// - Throws: `SimulatorError.file` if a file cannot be read; `.authority` if one is not a
  ///   certificate or key in PEM.
  public static func load(from folder: String) throws(SimulatorError) -> SimulatedAuthority {
    let key = try read("leaf.key.pem", in: folder)
    let intermediateKey = try? read("intermediate.key.pem", in: folder)
    var chain: [[UInt8]] = []
    for name in ["leaf.pem", "intermediate.pem", "root.pem"] {
      guard let der = CertificateMaker.der(pem: try read(name, in: folder)) else {
        throw .authority(path: folder, .failed("read \(name)"))
      }
      chain.append(der)
    }
    do {
      return SimulatedAuthority(
        chain: chain, leafKey: try .read(pem: key),
        intermediateKey: try intermediateKey.map(SigningKey.read(pem:)))
    } catch {
      throw .authority(path: folder, error)
    }
  }

  private static func read(
    _ name: String, in folder: String
  ) throws(SimulatorError) -> [UInt8] {
    let path = "\(folder)/\(name)"
    do throws(LedgerError) { return try DurableFile.read(path, limit: 1 << 20) } catch {
      throw .file("read", path, error)
    }
  }

  // MARK: Signing

  /// Makes a certificate, under the same intermediate, whose RSA key signs receipts: another one at
  /// each call.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot make the key or the certificate, or the key of the
  ///   intermediate is missing.
  public func makeReceiptSigner() throws(SigningError) -> ReceiptSigner {
    guard let intermediateKey else { throw .failed("find the key of the intermediate") }
    let key = try SigningKey.generate(.rsa2048)
    // Only the names of the certificates above are read here.
    let root = try CertificateMaker.root(intermediateKey)
    let intermediate = try CertificateMaker.intermediate(
      intermediateKey, issuer: root, issuerKey: intermediateKey)
    let leaf = try CertificateMaker.leaf(
      key, issuer: intermediate, issuerKey: intermediateKey)
    let certificate = try leaf.make(for: key, signedBy: intermediateKey)
    return ReceiptSigner(key: key, chain: [certificate] + chain.dropFirst())
  }

  /// Signs a payload as Apple does: compact JWS, in ASCII.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  public func sign(payload: [UInt8]) throws(SigningError) -> [UInt8] { try signer.sign(payload) }

  /// The JWS of a payload, as a value.
  func signed(_ payload: JSONValue) throws(SigningError) -> JSONValue {
    .string(String(decoding: try sign(payload: payload.bytes), as: UTF8.self))
  }

  /// Signs a decoded notification. Objects `data.transaction`, `data.renewalInfo` and
  /// `appData.appTransaction` become `signedTransactionInfo`, `signedRenewalInfo` and
  /// `signedAppTransactionInfo`; all other members stay as they are.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  public func signedPayload(_ notification: JSONValue) throws(SigningError) -> [UInt8] {
    var memory = SignatureMemory()
    return try signedPayload(notification, memory: &memory)
  }

  /// As `signedPayload`, with the signatures of an earlier call, so that the bytes are the same.
  ///
  /// - Parameter memory: empty at the first call; belongs to this notification alone.
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  func signedPayload(
    _ notification: JSONValue, memory: inout SignatureMemory
  ) throws(SigningError) -> [UInt8] {
    memory.rewind()
    guard case .object(let members) = notification else {
      return try signer.sign(notification.bytes, memory: &memory)
    }
    var signed: [(String, JSONValue)] = []
    for (name, value) in members {
      let isCarrier = name == "data" || name == "appData"
      signed.append((name, isCarrier ? try signParts(of: value, &memory) : value))
    }
    return try signer.sign(JSONValue.object(signed).bytes, memory: &memory)
  }

  /// The POST body: `{"signedPayload":"…"}`.
  ///
  /// - Throws: `SigningError` if OpenSSL cannot sign.
  public func sign(notification: JSONValue) throws(SigningError) -> [UInt8] {
    // A compact JWS has no character that JSON would escape.
    Array(#"{"signedPayload":""#.utf8) + (try signedPayload(notification)) + Array(#""}"#.utf8)
  }

  /// The names of decoded parts, and the names of their signed forms.
  private static let parts = [
    "transaction": "signedTransactionInfo", "renewalInfo": "signedRenewalInfo",
    "appTransaction": "signedAppTransactionInfo",
  ]

  /// Signs each part on its own, as Apple does, before the whole payload is signed.
  private func signParts(
    of carrier: JSONValue, _ memory: inout SignatureMemory
  ) throws(SigningError) -> JSONValue {
    guard case .object(let members) = carrier else { return carrier }
    var signed: [(String, JSONValue)] = []
    for (name, value) in members {
      guard let part = Self.parts[name] else {
        signed.append((name, value))
        continue
      }
      let text = try signer.sign(value.bytes, memory: &memory)
      signed.append((part, .string(String(decoding: text, as: UTF8.self))))
    }
    return .object(signed)
  }
}
