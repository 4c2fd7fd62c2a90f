public import Platform
public import SignedData
public import Store
public import StrictJSON

/// The head of a journal at a time, signed (promise 5). Stored elsewhere, it shows later whether
/// the journal up to that event is still the same. The hash chain alone does not show this, because
/// the owner of the file can compute the chain again or cut its end.
///
///     {"object":"anchor","journal_id":"<32 digits>","seq":7,"hash":"<64 digits>",
///      "at":1767225600000,"public_key":"<base64 of 32 bytes>",
///      "signature":"<base64 of 64 bytes>"}
///
///     signature = Ed25519( "subledger.anchor.v1" 0x00 ‖ lp(journal_id) ‖ be64(seq) ‖ hash
///                          ‖ be64(at) )
///     lp(x)     = be32(bytes of x) ‖ x in UTF-8
public struct Anchor: Sendable, Equatable {
  /// The 16 bytes of the journal's id as lower-case hexadecimal digits.
  public let journalId: String
  /// The seq of the newest event; 0 for an empty journal.
  public let seq: Int64
  /// hash[seq], 32 bytes.
  public let hash: [UInt8]
  /// When it was signed by our clock, in milliseconds since 1970 UTC.
  public let at: Int64
  /// The key that claims to have signed it; `isSigned(by:)` checks the claim.
  let publicKey: Ed25519PublicKey
  /// 64 bytes.
  public let signature: [UInt8]

  private static let label = Array("subledger.anchor.v1".utf8) + [0]

  /// Signs a head.
  ///
  /// - Parameters:
  ///   - journalId: 16 bytes.
  ///   - time: our clock, in milliseconds since 1970 UTC.
  /// - Throws: `SigningError` if the cryptography library cannot sign.
  static func make(
    of head: Head, journalId: [UInt8], at time: Int64, by key: AnchorKey
  ) throws(LedgerError) -> Anchor {
    let id = Hexadecimal.encode(journalId)
    let message = signed(journalId: id, seq: head.seq, hash: head.hash, at: time)
    return Anchor(
      journalId: id, seq: head.seq, hash: head.hash, at: time, publicKey: key.publicKey,
      signature: try mapError(LedgerError.signing, try key.key.sign(message)))
  }

  /// Signs the head of a folder's journal as readers see it, that is what is committed and synced,
  /// whether a daemon runs or not.
  ///
  /// - Parameter time: our clock, in milliseconds since 1970 UTC.
  /// - Throws: what the store throws if the journal cannot be read; `LedgerError.signing`.
  public static func make(
    of folder: DataFolder, at time: Int64, by key: AnchorKey
  ) throws(LedgerError) -> Anchor {
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let (head, id) = (try journal.head(), try journal.journalId())
    return try make(of: head, journalId: id, at: time, by: key)
  }

  /// Signs events of a folder's journal as readers see it, each as the head that it was.
  ///
  /// - Parameters:
  ///   - seqs: of committed events.
  ///   - time: our clock, in milliseconds since 1970 UTC.
  /// - Throws: what the store throws if the journal cannot be read or lacks an event;
  ///   `LedgerError.signing`.
  static func make(
    of seqs: [Int64], in folder: DataFolder, at time: Int64, by key: AnchorKey
  ) throws(LedgerError) -> [Anchor] {
    let journal = try JournalReader.open(folder)
    defer { journal.close() }
    let id = try journal.journalId()
    let heads = try seqs.map { (seq) throws(LedgerError) in
      guard let hash = try journal.hash(at: seq) else { throw .corrupt("an event is missing") }
      return Head(seq: seq, hash: hash, receivedAt: nil)
    }
    return try heads.map { (head) throws(LedgerError) in
      try make(of: head, journalId: id, at: time, by: key)
    }
  }

  /// The id of a folder's journal as anchors have it.
  static func journalId(of folder: DataFolder) throws(LedgerError) -> String {
    Hexadecimal.encode(try JournalReader.open(folder).journalId())
  }

  private static func signed(
    journalId: String, seq: Int64, hash: [UInt8], at: Int64
  ) -> [UInt8] {
    var message = label
    func append(_ number: some FixedWidthInteger) {
      withUnsafeBytes(of: number.bigEndian) { message.append(contentsOf: $0) }
    }
    append(UInt32(journalId.utf8.count))
    message += journalId.utf8
    append(seq)
    message += hash
    append(at)
    return message
  }

  /// Whether this key signed it, and `publicKey` names this key.
  public func isSigned(by key: Ed25519PublicKey) -> Bool {
    publicKey == key
      && key.verifies(
        signature, over: Self.signed(journalId: journalId, seq: seq, hash: hash, at: at))
  }

  // MARK: As a line

  /// The anchor as one JSON object, as it is stored and as commands show it.
  public var json: JSONValue {
    .object([
      ("object", .string("anchor")), ("journal_id", .string(journalId)), ("seq", .integer(seq)),
      ("hash", .string(Hexadecimal.encode(hash))), ("at", .integer(at)),
      ("public_key", .string(String(decoding: Base64.encode(publicKey.raw), as: UTF8.self))),
      ("signature", .string(String(decoding: Base64.encode(signature), as: UTF8.self))),
    ])
  }

  /// One line of JSON, without the line feed.
  public var line: [UInt8] { json.bytes }

  /// The longest line that is read, in bytes; a line has about 380.
  public static let maximumLine = 1024

  /// Reads a line. Returns nil unless it has exactly these members, digits in lower case and no
  /// negative number. Does not check the signature.
  public init?(parsing line: [UInt8]) {
    guard line.count <= Self.maximumLine, let root = try? JSONDocument(parsing: line).root else {
      return nil
    }
    self.init(root)
  }

  /// Reads an object inside another document under the same rules.
  init?(_ root: JSONElement) {
    guard root.members.count == 7, root["object"]?.isString("anchor") == true,
      let id = Self.digits(root["journal_id"], bytes: 16),
      let seq = root["seq"]?.integer, seq >= 0, let at = root["at"]?.integer, at >= 0,
      let hash = Self.digits(root["hash"], bytes: 32),
      let key = root["public_key"]?.string.flatMap(Base64.decode),
      let publicKey = Ed25519PublicKey(raw: key),
      let signature = root["signature"]?.string.flatMap(Base64.decode), signature.count == 64
    else { return nil }
    self.init(
      journalId: Hexadecimal.encode(id), seq: seq, hash: hash, at: at, publicKey: publicKey,
      signature: signature)
  }

  private init(
    journalId: String, seq: Int64, hash: [UInt8], at: Int64, publicKey: Ed25519PublicKey,
    signature: [UInt8]
  ) {
    self.journalId = journalId
    self.seq = seq
    self.hash = hash
    self.at = at
    self.publicKey = publicKey
    self.signature = signature
  }

  private static func digits(_ member: JSONElement?, bytes count: Int) -> [UInt8]? {
    guard let text = member?.string, let bytes = Hexadecimal.decode(text), bytes.count == count,
      Hexadecimal.encode(bytes) == text
    else { return nil }
    return bytes
  }
}
