import AppStore
import Configuration
import Encoding
public import JournalStore
import LedgerEngine
import Platform
public import SignedData
public import StrictJSON

/// Checks an evidence bundle, with nothing but the file, the pinned roots, and the public key of
/// whoever made it.
public final class BundleCheck {
  public struct Report: Sendable {
    /// Whose it is; nil where not even that could be read.
    public fileprivate(set) var key: StreamKey?
    public fileprivate(set) var events: Int64 = 0
    /// Of these, the ones that nobody but the chain vouches for.
    public fileprivate(set) var unsigned: Int64 = 0
    public fileprivate(set) var anchors: Int64 = 0
    /// Places that anchors of the reader's know, and know alike.
    public fileprivate(set) var kept: Int64 = 0
    /// The key that sealed the file, 32 bytes in base64. It means something only where it is known
    /// from elsewhere.
    public fileprivate(set) var publicKey: String?
    /// Whether it was held to one that is.
    public fileprivate(set) var isKeyCompared = false
    /// The entitlement in it; nil where none was reached.
    public fileprivate(set) var answer: JSONValue?
    /// The moment it is for, milliseconds since 1970 UTC.
    public fileprivate(set) var asOf: Int64?
    public fileprivate(set) var givesAccess = false
    /// How long non-renewing products last according to who made the bundle: milliseconds by
    /// product id. Nothing of Apple's says so.
    public fileprivate(set) var durations: [String: Int64] = [:]
    /// Whether that was folded again and compared: another program's fold cannot be.
    public fileprivate(set) var isAnswerCompared = false
    public fileprivate(set) var findings: [Verify.Finding] = []
  }

  /// A line that is not what a bundle has at its place.
  private struct Unexpected: Error {
    let what: String
  }

  /// Longer than any line: a body may have 4 MB.
  private static let maximumLine = 16 << 20

  private let proof: NotificationProof
  private let expectedKey: Ed25519PublicKey?
  /// Hashes by seq, by anchors that the reader kept.
  private var kept: [Int64: [UInt8]] = [:]
  private var report = Report()
  private var hashing = SHA256()
  private var events: [StoredEvent] = []
  private var journalId = ""
  /// Where the chain was computed to since the last `before`.
  private var place: (seq: Int64, hash: [UInt8])?
  /// The last anchored place.
  private var highest = (seq: Int64(0), hash: ChainHash.origin)
  /// How many events there were before the `before` above.
  private var eventsBefore: Int64 = 0
  private var received = Int64.min
  private var uuids: Set<String> = []
  private var keys: [Ed25519PublicKey] = []
  private var isAnswered = false

  /// - Parameters:
  ///   - roots: Apple's and more that the reader trusts.
  ///   - keyFile: the public key in PEM whose anchors and seal count; nil takes the one in the
  ///     bundle at its word.
  ///   - kept: anchors that the reader has from before. Whoever has the key can anchor anew, but
  ///     not what somebody else kept.
  /// - Throws: `anchors` where the bundle or the key cannot be read, `configuration`.
  public static func run(
    _ path: String, roots: TrustRoots, keyFile: String?, kept: [Anchor]
  ) throws(VerifyError) -> Report {
    let proof: NotificationProof
    do throws(ConfigurationError) {
      proof = try NotificationProof(roots)
    } catch {
      throw .configuration(error)
    }
    let check = BundleCheck(proof, try keyFile.map(publicKey))
    for anchor in kept where anchor.isSigned(by: check.expectedKey ?? anchor.publicKey) {
      check.kept[anchor.seq] = anchor.hash
    }
    do throws(PlatformError) {
      try check.read(path)
    } catch {
      throw .anchors(AnchorError(error))
    }
    return check.report
  }

  private static func publicKey(_ path: String) throws(VerifyError) -> Ed25519PublicKey {
    do throws(AnchorError) {
      return try AnchorKey.publicKey(inFile: path)
    } catch {
      throw .anchors(error)
    }
  }

  private init(_ proof: NotificationProof, _ publicKey: Ed25519PublicKey?) {
    self.proof = proof
    expectedKey = publicKey
    report.isKeyCompared = publicKey != nil
  }

  private func read(_ path: String) throws(PlatformError) {
    let lines = try LineReader(path: path, maximum: Self.maximumLine)
    var (number, isSealed, isEnded) = (0, false, true)
    while let line = try lines.next() {
      number += 1
      isEnded = lines.isLineEnded
      do throws(Unexpected) {
        guard line.count <= Self.maximumLine else { throw Unexpected(what: "is too long") }
        guard !isSealed else { throw Unexpected(what: "something follows the seal") }
        isSealed = try take(line, number)
      } catch {
        return find(5, nil, "line \(number): \(error.what)")
      }
    }
    if !isSealed { return find(5, nil, "the file has no seal: its end is missing") }
    if !isEnded { find(5, nil, "the last line has no end") }
  }

  private func find(_ promise: Int, _ seq: Int64?, _ what: String) {
    report.findings.append(Verify.Finding(promise: promise, seq: seq, what: what))
  }

  /// - Returns: whether it was the seal.
  private func take(_ line: [UInt8], _ number: Int) throws(Unexpected) -> Bool {
    guard let root = try? JSONDocument(parsing: line).root, let kind = root["object"]?.string else {
      throw Unexpected(what: "is no line of a bundle")
    }
    guard (kind == "bundle") == (number == 1) else {
      throw Unexpected(what: "a bundle begins with one line that says whose it is")
    }
    switch kind {
    case "bundle": try takeHead(root)
    case "before": try takeBefore(root)
    case "event", "link": try takePlace(root, isEvent: kind == "event")
    case "anchor": try takeAnchor(root)
    case "answer": try takeAnswer(root)
    case "seal":
      try takeSeal(root, line)
      return true
    default: throw Unexpected(what: "is nothing that this program knows")
    }
    hashing.update(line + [0x0A])
    return false
  }

  // MARK: Lines

  private func takeHead(_ root: JSONElement) throws(Unexpected) {
    guard root["format"]?.integer == Bundle.format else {
      throw Unexpected(what: "its format is not one that this program knows")
    }
    guard let environment = root["environment"]?.string, let bundleId = root["bundle_id"]?.string,
      let id = root["original_transaction_id"]?.string, let journal = root["journal_id"]?.string
    else { throw Unexpected(what: "does not say whose it is") }
    report.key = StreamKey(
      environment: environment, bundleId: bundleId, originalTransactionId: id)
    journalId = journal
  }

  private func takeBefore(_ root: JSONElement) throws(Unexpected) {
    guard place == nil, !isAnswered, let seq = root["seq"]?.integer,
      (highest.seq..<1 << 60).contains(seq), let hash = Self.digits(root["hash"])
    else { throw Unexpected(what: "the chain does not begin anew here") }
    if seq == highest.seq && hash != highest.hash {
      find(5, seq, "the chain goes on from another hash than it came to")
    }
    eventsBefore = report.events
    place = (seq, hash)
  }

  private func takePlace(_ root: JSONElement, isEvent: Bool) throws(Unexpected) {
    guard let place, let link = link(root, isEvent: isEvent), link.seq == place.seq + 1 else {
      throw Unexpected(what: "is not the next place of the chain")
    }
    let hash = link.hash(after: place.hash)
    self.place = (link.seq, hash)
    if link.receivedAt < received { find(5, link.seq, "was received before the event before it") }
    received = link.receivedAt
    if let known = kept[link.seq] {
      if known == hash {
        report.kept += 1
      } else {
        find(5, link.seq, "a kept anchor knows another history up to here")
      }
    }
    guard isEvent else { return }
    report.events += 1
    if !uuids.insert(link.notificationUUID).inserted { find(4, link.seq, "is there twice") }
    if Self.digits(root["hash"]) != hash { find(5, link.seq, "its hash does not follow") }
    guard let body = root["body"]?.string, let key = report.key else { return }
    takeEvent(link, Array(body.utf8), hash, key)
  }

  private func link(_ root: JSONElement, isEvent: Bool) -> ChainLink? {
    let body = isEvent ? root["body"]?.string.map { SHA256.hash(Array($0.utf8)) } : nil
    guard let seq = root["seq"]?.integer, let receivedAt = root["received_at_ms"]?.integer,
      let uuid = root["notification_uuid"]?.string, let source = root["source"]?.string,
      let bodySHA256 = body ?? Self.digits(root["body_sha256"])
    else { return nil }
    return ChainLink(
      seq: seq, notificationUUID: uuid, source: source, receivedAt: receivedAt,
      bodySHA256: bodySHA256)
  }

  /// Proves it again, and that it is about this customer.
  private func takeEvent(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8], _ key: StreamKey
  ) {
    let read: StoredEvent?
    do throws(Refusal) {
      read =
        link.source == "v1" ? v1(link, body, hash, key) : try v2(link, body, hash)
    } catch {
      return find(3, link.seq, "is not proven: \(error.code)")
    }
    guard let event = read, event.streamKey == key,
      event.notificationUUID == link.notificationUUID
    else { return find(5, link.seq, "the body is not what its line says") }
    if link.source == "v1" { report.unsigned += 1 }
    events.append(event)
  }

  private func v2(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8]
  ) throws(Refusal) -> StoredEvent? {
    guard link.source == "v2",
      let document = try proof.open(body[...], at: link.receivedAt).document
    else { return nil }
    let notification = try proof.notification(document, at: link.receivedAt)
    let payload = notification.payload
    return StoredEvent(
      seq: link.seq, notificationUUID: payload.notificationUUID.description, source: link.source,
      environment: payload.environment, bundleId: payload.bundleId,
      notificationType: payload.notificationType, subtype: payload.subtype,
      originalTransactionId: notification.identifier, signedDate: payload.signedDate,
      receivedAt: link.receivedAt, body: body, bodySHA256: link.bodySHA256, hash: hash)
  }

  private func v1(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8], _ key: StreamKey
  ) -> StoredEvent? {
    guard let root = try? JSONDocument(parsing: body).root,
      let notification = try? V1Notification(root)
    else { return nil }
    return StoredEvent(
      seq: link.seq, notificationUUID: V1Body(root).uuid.description, source: link.source,
      environment: notification.environment, bundleId: notification.bundleId ?? key.bundleId,
      notificationType: notification.notificationType, subtype: nil,
      originalTransactionId: notification.originalTransactionId,
      signedDate: notification.evidenceDate, receivedAt: link.receivedAt, body: body,
      bodySHA256: link.bodySHA256, hash: hash)
  }

  private func takeAnchor(_ root: JSONElement) throws(Unexpected) {
    guard let place, let anchor = Anchor(root) else {
      throw Unexpected(what: "is no anchor of the places before it")
    }
    self.place = nil
    guard report.events > eventsBefore else {
      throw Unexpected(what: "no event of the customer's is led to this anchor")
    }
    highest = place
    report.anchors += 1
    if !anchor.isSigned(by: expectedKey ?? anchor.publicKey) {
      find(5, anchor.seq, "the anchor is not signed by that key")
    }
    if anchor.journalId != journalId { find(5, anchor.seq, "the anchor is of another journal") }
    if anchor.seq != place.seq || anchor.hash != place.hash {
      find(5, anchor.seq, "the events before the anchor are not those that it was made of")
    }
    keys.append(anchor.publicKey)
  }

  private func takeAnswer(_ root: JSONElement) throws(Unexpected) {
    guard place == nil, !isAnswered, let key = report.key, let time = root["as_of"]?.integer,
      let entitlement = root["entitlement"], let signedBy = root["signed_by"],
      signedBy.kind == .null || signedBy.integer == time
    else { throw Unexpected(what: "is no answer behind an anchor") }
    guard report.events > 0 else { throw Unexpected(what: "there is no event to answer from") }
    isAnswered = true
    report.answer = entitlement.value
    report.asOf = time
    report.givesAccess = entitlement["gives_access"]?.boolean == true
    let isOurFold = root["fold_fingerprint"]?.isString(FoldIdentity.fingerprint)
    // An event that is not proven has been named; what the others fold to says nothing then.
    guard events.count == report.events else { return }
    guard isOurFold == true else {
      return find(
        6, nil, "the answer is of another fold: the program that made it can compare it")
    }
    report.isAnswerCompared = true
    let durations = root["non_renewing_durations"]?.members.compactMap { name, value in
      value.integer.map { (name, $0) }
    }
    report.durations = Dictionary(durations ?? [], uniquingKeysWith: { $1 })
    let question = BundleQuestion(
      asOf: signedBy.integer, time: time, durations: report.durations)
    if Bundle.entitlement(key, events, question).text != entitlement.value.text {
      find(6, nil, "the answer is not what these events fold to")
    }
  }

  /// It stands for every byte above it, and its own line is written one way only.
  private func takeSeal(_ root: JSONElement, _ line: [UInt8]) throws(Unexpected) {
    guard isAnswered, let sha256 = Self.digits(root["sha256"]),
      let raw = root["public_key"]?.string.flatMap(Base64.decode),
      let key = Ed25519PublicKey(raw: raw),
      let signature = root["signature"]?.string.flatMap(Base64.decode),
      Bundle.seal(sha256, key, signature).bytes == line
    else { throw Unexpected(what: "is no seal behind an answer") }
    report.publicKey = String(decoding: Base64.encode(key.raw), as: UTF8.self)
    if sha256 != hashing.finish() { find(5, nil, "the file was changed after it was sealed") }
    if (expectedKey ?? key) != key || !key.verifies(signature, over: Bundle.sealed(sha256)) {
      find(5, nil, "the seal is not signed by that key")
    }
    if keys.contains(where: { $0 != key }) {
      find(5, nil, "anchors and seal are signed by different keys")
    }
  }

  private static func digits(_ member: JSONElement?) -> [UInt8]? {
    member?.string.flatMap(Hexadecimal.decode).flatMap { $0.count == 32 ? $0 : nil }
  }
}
