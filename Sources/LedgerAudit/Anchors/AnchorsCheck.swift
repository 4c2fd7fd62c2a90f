public import Configuration
import Encoding
import Glibc
public import JournalStore
import Platform
public import SignedData

/// A file of anchors, one a line, that a journal is held to.
public struct AnchorsFile: Sendable {
  public let path: String
  public let publicKey: Ed25519PublicKey
  /// The configuration names it, so it may be that no daemon has written it yet.
  public let isConfigured: Bool

  /// - Parameter keyFile: a public key in PEM; nil: the folder's own key.
  /// - Throws: `AnchorError.key` where there is no usable one: anchors that nobody can check must
  ///   not pass for checked.
  public static func open(
    _ path: String, keyFile: String?, of folder: DataFolder, isConfigured: Bool = false
  ) throws(AnchorError) -> AnchorsFile {
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

  /// What the configuration names, where it names one and that can be there: nil before any daemon
  /// or `anchor` made a key, when nothing can have been signed.
  public static func configured(
    _ configuration: Configuration, keyFile: String?
  ) throws(AnchorError) -> AnchorsFile? {
    guard let path = configuration.anchors?.file else { return nil }
    let folder = DataFolder(path: configuration.data)
    let isThere = try AnchorError.platform { () throws(PlatformError) in
      try DurableFile.size(path) != nil
    }
    if !isThere, keyFile == nil, try AnchorKey.read(folder) == nil { return nil }
    return try open(path, keyFile: keyFile, of: folder, isConfigured: true)
  }
}

/// What a journal was held to.
public struct AnchorsOutcome: Sendable {
  public let file: String
  public let isConfigured: Bool
  /// Lines that hold.
  public var held: Int64 = 0
  /// The greatest seq of those; nil where none does.
  public var through: Int64?
  /// The last line has no end and is no anchor: a power loss tore it, or it is being written.
  public var isTorn = false
}

/// Whether every anchor of a file is a prefix of the journal: what neither a chain computed anew
/// nor one cut short can be (promises 1 and 5).
///
/// Each line stands for itself. `seq` and `at` may fall along the file: a command and the daemon
/// may append at once, clocks are set back, and files are joined. It would prove nothing more,
/// since every line is held to the one journal there is.
struct AnchorsCheck {
  private let source: AnchorsFile
  private let folder: DataFolder
  private let findings: Verify.Findings
  private var journal: JournalReader
  private var head: Int64
  private var isOpenedAnew = false
  private let journalId: String
  private var outcome: AnchorsOutcome

  /// Holds a folder's journal to each line of a file.
  static func run(
    _ source: AnchorsFile, _ folder: DataFolder, _ findings: Verify.Findings
  ) throws(VerifyError) -> AnchorsOutcome {
    var check = try AnchorsCheck(source, folder, findings)
    guard let lines = try check.lines() else { return check.outcome }
    var number = 0
    while true {
      let line = try check.next(of: lines)
      guard let line else { break }
      number += 1
      try check.check(line, "line \(number) of \(source.path)", isEnded: lines.isLineEnded)
    }
    if number == 0 || number == 1 && check.outcome.isTorn {
      findings.add(
        5, nil, "\(source.path) holds no anchor: it was emptied; look who could write it")
    }
    return check.outcome
  }

  private init(
    _ source: AnchorsFile, _ folder: DataFolder, _ findings: Verify.Findings
  ) throws(VerifyError) {
    (self.source, self.folder, self.findings) = (source, folder, findings)
    outcome = AnchorsOutcome(file: source.path, isConfigured: source.isConfigured)
    (journal, head, journalId) = try VerifyError.store { () throws(StoreError) in
      let journal = try JournalReader.open(folder)
      return (journal, try journal.head().seq, Hexadecimal.encode(try journal.journalId()))
    }
  }

  /// Nil where the configured file is not there: a finding once there is something to be anchored.
  private func lines() throws(VerifyError) -> LineReader? {
    do throws(PlatformError) {
      return try LineReader(path: source.path, maximum: Anchor.maximumLine, isPlain: true)
    } catch {
      guard case .system(_, let code) = error, source.isConfigured,
        [ENOENT, ENOTDIR].contains(code)
      else {
        throw .anchors(AnchorError(error))
      }
      if head > 0 {
        findings.add(
          5, nil,
          "\(source.path) is missing: put it back or mount its volume; "
            + "where there was none yet, the daemon makes it")
      }
      return nil
    }
  }

  private func next(of lines: LineReader) throws(VerifyError) -> [UInt8]? {
    do throws(PlatformError) {
      return try lines.next()
    } catch {
      switch error {
      case .system(_, let code): throw .anchors(.platform("read \(source.path)", code))
      }
    }
  }

  private mutating func check(
    _ line: [UInt8], _ place: String, isEnded: Bool
  ) throws(VerifyError) {
    guard let anchor = Anchor(parsing: line) else {
      guard isEnded else { return outcome.isTorn = true }
      return findings.add(
        5, nil, "\(place) is no anchor; remove it where a power loss tore it")
    }
    guard anchor.isSigned(by: source.publicKey) else {
      return findings.add(5, nil, "\(place) is not signed by the key; was the key replaced?")
    }
    guard anchor.journalId == journalId else {
      return findings.add(5, nil, "\(place) is of another journal: \(anchor.journalId)")
    }
    if try hold(anchor, place) {
      outcome.held += 1
      outcome.through = max(outcome.through ?? 0, anchor.seq)
    }
  }

  private mutating func hold(_ anchor: Anchor, _ place: String) throws(VerifyError) -> Bool {
    if anchor.seq > head { try lookAgain() }
    guard anchor.seq <= head else {
      findings.add(
        1, head + 1,
        "\(place) knows events up to seq \(anchor.seq): the journal's end was lost "
          + "or cut; restore a backup")
      return false
    }
    let hash = try VerifyError.store { () throws(StoreError) in try journal.hash(at: anchor.seq) }
    if hash == anchor.hash { return true }
    findings.add(
      5, anchor.seq,
      hash == nil
        ? "\(place) knows this event, and it is missing"
        : "\(place) knows another history up to here: the journal was rewritten")
    return false
  }

  /// The daemon may have anchored what it journaled since we looked; and one that has started since
  /// is not seen through a file that was opened at rest.
  private mutating func lookAgain() throws(VerifyError) {
    let (folder, isOpenedAnew, before) = (folder, isOpenedAnew, journal)
    (journal, head) = try VerifyError.store { () throws(StoreError) in
      let journal = isOpenedAnew ? before : try JournalReader.open(folder)
      return (journal, try journal.head().seq)
    }
    self.isOpenedAnew = true
  }
}
