import AppStore
import Entitlements
import Ledger
public import Platform
public import SignedData
import Store
import StrictJSON

/// Checks an evidence bundle with nothing but the file, the pinned roots, and the public key of the
/// bundle's author.
public final class BundleCheck {
  /// The longest line that is read, in bytes; a body may have 4 MB.
  private static let maximumLine = 16 << 20

  private let reader: BundleEventReader
  /// The key that must have signed the anchors and the seal; nil if the reader has none.
  private let expectedKey: Ed25519PublicKey?
  /// The reader's own anchors, of any journal.
  private let known: [Anchor]
  private var report = BundleReport()
  private var chain = BundleChain()
  /// Over all lines before the seal.
  private var hashing = SHA256()
  private var journalId = ""
  private var events: [StoredEvent] = []
  private var anchorKeys: [Ed25519PublicKey] = []
  private var isAnswered = false

  /// Checks the bundle in a file.
  ///
  /// - Parameters:
  ///   - roots: Apple's, and other roots that the reader trusts.
  ///   - keyFile: a file with the public key in PEM that must have signed the anchors and the seal;
  ///     nil to believe the key in the bundle.
  ///   - known: anchors that the reader has from before; those of other journals are ignored. The
  ///     owner of the key can anchor another history later, but cannot change these.
  /// - Throws: `LedgerError.anchorFile` if the bundle or the key cannot be read;
  ///   `LedgerError.configuration` if the roots are not usable. What is wrong with the bundle is a
  ///   finding.
  public static func run(
    _ path: String, roots: TrustRoots, keyFile: String?, known: [Anchor]
  ) throws(LedgerError) -> BundleReport {
    let proof = try EventProof(try NotificationProof(roots))
    let check = BundleCheck(proof, try keyFile.map(publicKey), known)
    do throws(LedgerError) {
      try check.read(path)
    } catch {
      throw .anchorFile(error)
    }
    return check.report
  }

  private static func publicKey(_ path: String) throws(LedgerError) -> Ed25519PublicKey {
    try AnchorKey.publicKey(inFile: path)
  }

  private init(_ proof: EventProof, _ publicKey: Ed25519PublicKey?, _ known: [Anchor]) {
    reader = BundleEventReader(proof)
    expectedKey = publicKey
    self.known = known
    report.isKeyCompared = publicKey != nil
  }

  private func read(_ path: String) throws(LedgerError) {
    let lines = try LineReader(
      path: path, maximum: Self.maximumLine, unpacker: ZstdFile.unpacker)
    var (number, isSealed, isEnded) = (0, false, true)
    while let line = try lines.next() {
      number += 1
      isEnded = lines.isLineEnded
      do throws(BundleLineError) {
        guard line.count <= Self.maximumLine else { throw BundleLineError(what: "is too long") }
        guard !isSealed else { throw BundleLineError(what: "something follows the seal") }
        isSealed = try checkLine(line, number)
      } catch {
        return report.findings.add(5, nil, "line \(number): \(error.what)")
      }
    }
    if !isSealed { return report.findings.add(5, nil, "the file has no seal: its end is missing") }
    if !isEnded { report.findings.add(5, nil, "the last line is incomplete") }
  }

  /// - Returns: whether it was the seal.
  private func checkLine(_ line: [UInt8], _ number: Int) throws(BundleLineError) -> Bool {
    guard let root = try? JSONDocument(parsing: line).root, let kind = root["object"]?.string else {
      throw BundleLineError(what: "is not a line of a bundle")
    }
    guard (kind == "bundle") == (number == 1) else {
      throw BundleLineError(what: "a bundle begins with exactly one line that names the customer")
    }
    switch kind {
    case "bundle": try readHead(root)
    case "before": try checkBefore(root)
    case "event", "link": try checkLink(root, isEvent: kind == "event")
    case "anchor": try checkAnchor(root)
    case "answer": try checkAnswer(root)
    case "seal":
      try checkSeal(root, line)
      return true
    default: throw BundleLineError(what: "is of a kind that this program does not know")
    }
    hashing.update(line + [0x0A])
    return false
  }

  // MARK: Lines

  private func readHead(_ root: JSONElement) throws(BundleLineError) {
    guard root["format"]?.integer == Bundle.format else {
      throw BundleLineError(what: "its format is not one that this program knows")
    }
    guard let environment = root["environment"]?.string, let bundleId = root["bundle_id"]?.string,
      let id = root["original_transaction_id"]?.string, let journal = root["journal_id"]?.string
    else { throw BundleLineError(what: "does not name the customer and the journal") }
    report.key = StreamKey(
      environment: Environment(rawValue: environment), bundleId: bundleId,
      originalTransactionId: id)
    journalId = journal
    compareKnownAnchors()
  }

  /// Lets the chain compare the reader's anchors of the bundle's journal.
  private func compareKnownAnchors() {
    let comparable = known.filter { $0.journalId == journalId }
    if comparable.isEmpty && !known.isEmpty {
      report.findings.add(5, nil, "none of the given anchors is of the bundle's journal")
    }
    for anchor in comparable where anchor.isSigned(by: expectedKey ?? anchor.publicKey) {
      chain.knownHashes[anchor.seq] = anchor.hash
    }
  }

  private func checkBefore(_ root: JSONElement) throws(BundleLineError) {
    guard !isAnswered else { throw BundleLineError(what: "follows the answer") }
    try chain.begin(
      seq: root["seq"]?.integer, hash: BundleEventReader.digest(root["hash"]), &report)
  }

  private func checkLink(_ root: JSONElement, isEvent: Bool) throws(BundleLineError) {
    guard let link = BundleEventReader.link(root, isEvent: isEvent) else {
      throw BundleChain.notNext
    }
    let hash = try chain.append(link, &report)
    guard isEvent else { return }
    chain.recordEvent(link, &report)
    if BundleEventReader.digest(root["hash"]) != hash {
      report.findings.add(5, link.seq, "its hash does not follow from the chain")
    }
    guard let body = Bundle.body(root), let key = report.key else { return }
    checkEvent(link, body, hash, key)
  }

  /// Proves an event again, and that it is this customer's.
  private func checkEvent(
    _ link: ChainLink, _ body: [UInt8], _ hash: [UInt8], _ key: StreamKey
  ) {
    do throws(Refusal) {
      guard let event = try reader.event(link, body, hash, of: key) else {
        return report.findings.add(5, link.seq, "the body is not what its line says")
      }
      if !link.source.isSigned { report.unsigned += 1 }
      if link.source.isOwners { report.statements += 1 }
      events.append(event)
    } catch {
      guard link.source.isSigned else {
        return report.findings.add(5, link.seq, "the body is not what its line says")
      }
      report.findings.add(3, link.seq, "is not proven: \(error.code)")
    }
  }

  private func checkAnchor(_ root: JSONElement) throws(BundleLineError) {
    guard chain.isInSegment, let anchor = Anchor(root) else {
      throw BundleLineError(what: "is not an anchor of the events before it")
    }
    let last = try chain.end()
    report.anchors += 1
    if !anchor.isSigned(by: expectedKey ?? anchor.publicKey) {
      report.findings.add(5, anchor.seq, "the anchor is not signed by that key")
    }
    if anchor.journalId != journalId {
      report.findings.add(5, anchor.seq, "the anchor is of another journal")
    }
    if anchor.seq != last.seq || anchor.hash != last.hash {
      report.findings.add(
        5, anchor.seq, "the events before the anchor are not those that it was made of")
    }
    anchorKeys.append(anchor.publicKey)
  }

  private func checkAnswer(_ root: JSONElement) throws(BundleLineError) {
    guard !chain.isInSegment, !isAnswered, let key = report.key, let time = root["as_of"]?.integer,
      let entitlement = root["entitlement"], let signedBy = root["signed_by"],
      signedBy.kind == .null || signedBy.integer == time
    else { throw BundleLineError(what: "is not an answer after an anchor") }
    guard report.events > 0 else { throw BundleLineError(what: "there is no event to answer from") }
    isAnswered = true
    report.answer = entitlement.value
    report.asOf = time
    report.givesAccess = entitlement["gives_access"]?.boolean == true
    let isOurFold = root["fold_fingerprint"]?.isString(Fold.current.fingerprint)
    // An event that is not proven is a finding already, and without it the fold means nothing.
    guard events.count == report.events else { return }
    guard isOurFold == true else {
      return report.findings.add(
        6, nil, "the answer is of another fold: only the program that made it can compare it")
    }
    report.isAnswerCompared = true
    let durations = root["non_renewing_durations"]?.members.compactMap { name, value in
      value.integer.map { (name, $0) }
    }
    report.durations = Dictionary(durations ?? [], uniquingKeysWith: { $1 })
    let question = BundleQuestion(
      asOf: signedBy.integer, time: time, durations: report.durations)
    let own = Bundle.entitlement(key, events, question, by: .current)
    let absent = Self.later.filter { entitlement[$0] == nil }
    if own.without(absent).text != entitlement.value.text {
      report.findings.add(6, nil, "the answer is not what these events fold to")
    }
  }

  /// Fields that a bundle of an earlier version does not have.
  private static let later = Set(RowField.all.filter { $0.mirrorLayout > 1 }.map(\.name))

  /// The seal covers every byte before it, and its own line must be exactly as it is written.
  private func checkSeal(_ root: JSONElement, _ line: [UInt8]) throws(BundleLineError) {
    guard isAnswered, let sha256 = BundleEventReader.digest(root["sha256"]),
      let raw = root["public_key"]?.string.flatMap(Base64.decode),
      let key = Ed25519PublicKey(raw: raw),
      let signature = root["signature"]?.string.flatMap(Base64.decode),
      Bundle.seal(sha256, key, signature).bytes == line
    else { throw BundleLineError(what: "is not a seal after an answer") }
    report.publicKey = String(decoding: Base64.encode(key.raw), as: UTF8.self)
    if sha256 != hashing.finish() {
      report.findings.add(5, nil, "the file was changed after it was sealed")
    }
    if (expectedKey ?? key) != key || !key.verifies(signature, over: Bundle.sealed(sha256)) {
      report.findings.add(5, nil, "the seal is not signed by that key")
    }
    if anchorKeys.contains(where: { $0 != key }) {
      report.findings.add(5, nil, "anchors and seal are signed by different keys")
    }
  }
}
