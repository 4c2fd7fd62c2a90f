import Glibc
import Platform
import SignedData
import Store

/// Checks that the journal contains the head of every anchor of a file. A chain that was computed
/// again, or cut short, does not (promises 1 and 5).
///
/// Each line is checked on its own. `seq` and `at` may decrease along the file, because a command
/// and the daemon may append at once, clocks are set back, and files are joined. An order would
/// prove nothing more, because every line is compared with the same journal.
struct AnchorsCheck {
  private let source: AnchorsFile
  private let run: CheckRun
  private var journal: JournalReader
  private var head: Int64
  private var isReopened = false
  private let journalId: String
  private var outcome: AnchorsOutcome

  fileprivate init(
    _ source: AnchorsFile, _ journal: JournalReader, _ run: CheckRun
  ) throws(LedgerError) {
    (self.source, self.journal, self.run) = (source, journal, run)
    outcome = AnchorsOutcome(file: source.path, isConfigured: source.isConfigured)
    (head, journalId) = (
      try journal.head().seq, Hexadecimal.encode(try journal.journalId())
    )
  }

  /// Compares the journal with each line of the file.
  fileprivate mutating func compare() throws(LedgerError) -> AnchorsOutcome {
    guard let lines = try lines() else { return outcome }
    var number = 0
    while let line = try next(of: lines) {
      number += 1
      try check(line, "line \(number) of \(source.path)", isEnded: lines.isLineEnded)
    }
    if number == 0 || number == 1 && outcome.isTorn {
      run.add(
        5, nil, "\(source.path) holds no anchor: it was emptied; find out who can write to it")
    }
    return outcome
  }

  /// Opens the file. Returns nil if it is configured and absent, which is a finding once there are
  /// events to anchor.
  private func lines() throws(LedgerError) -> LineReader? {
    do throws(LedgerError) {
      return try LineReader(path: source.path, maximum: Anchor.maximumLine, isPlain: true)
    } catch {
      guard source.isConfigured, [ENOENT, ENOTDIR].contains(error.number) else {
        throw .anchorFile(error)
      }
      if head > 0 {
        run.add(
          5, nil,
          "\(source.path) is missing: put it back or mount its volume; "
            + "if there was none yet, the daemon makes it")
      }
      return nil
    }
  }

  private func next(of lines: LineReader) throws(LedgerError) -> [UInt8]? {
    do throws(LedgerError) {
      return try lines.next()
    } catch {
      throw .anchorFile(.system("read \(source.path)", error.number))
    }
  }

  private mutating func check(
    _ line: [UInt8], _ lineName: String, isEnded: Bool
  ) throws(LedgerError) {
    guard let anchor = Anchor(parsing: line) else {
      guard isEnded else { return outcome.isTorn = true }
      return run.add(
        5, nil, "\(lineName) is not an anchor; remove it if a power loss tore it")
    }
    guard anchor.isSigned(by: source.publicKey) else {
      return run.add(5, nil, "\(lineName) is not signed by the key; was the key replaced?")
    }
    guard anchor.journalId == journalId else {
      return run.add(5, nil, "\(lineName) is of another journal: \(anchor.journalId)")
    }
    if try matches(anchor, lineName) {
      outcome.held += 1
      outcome.through = max(outcome.through ?? 0, anchor.seq)
    }
  }

  private mutating func matches(_ anchor: Anchor, _ lineName: String) throws(LedgerError) -> Bool {
    if anchor.seq > head { try readHeadAgain() }
    guard anchor.seq <= head else {
      run.add(
        1, head + 1,
        "\(lineName) has events up to seq \(anchor.seq): the journal's end was lost "
          + "or cut; restore a backup")
      return false
    }
    let hash = try journal.hash(at: anchor.seq)
    if hash == anchor.hash { return true }
    run.add(
      5, anchor.seq,
      hash == nil
        ? "\(lineName) has this event, and it is missing"
        : "\(lineName) has another history up to here: the journal was rewritten")
    return false
  }

  /// Reads the head again, because the daemon may have anchored what it journaled meanwhile. The
  /// first time it opens the journal again: a connection that was opened while no daemon ran does
  /// not see what one appends that has started since.
  private mutating func readHeadAgain() throws(LedgerError) {
    if !isReopened { journal = try JournalReader.open(run.folder) }
    head = try journal.head().seq
    isReopened = true
  }
}

extension Check {
  static func anchors(_ file: AnchorsFile) -> Check {
    Check { (journal, run) throws(LedgerError) in
      var check = try AnchorsCheck(file, journal, run)
      let outcome = try check.compare()
      run.report { $0.anchors = outcome }
    }
  }
}
