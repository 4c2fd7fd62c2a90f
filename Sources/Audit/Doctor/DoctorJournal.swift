import Entitlements
import Ledger
import Platform
import Store

/// The journal: receive times, quarantine, and the write-ahead log.
extension Doctor {
  /// How many of the newest events are examined one by one.
  private static let recentEvents: Int64 = 500

  func examineJournal() throws(LedgerError) {
    guard try folder.hasJournal() else {
      return report("there is none yet: the daemon makes it when it first starts")
    }
    let seq = try openJournal().head().seq
    report("\(seq) events, " + (try folder.isLocked() ? "a daemon runs" : "no daemon runs"))
  }

  func recentEvents() throws(LedgerError) -> [StoredEvent] {
    guard let journal else { return [] }
    return try journal.events(
      after: max(0, try journal.head().seq - Self.recentEvents), limit: Int(Self.recentEvents))
  }

  func examineReceiveTimes() throws(LedgerError) {
    let events = try recentEvents()
    if let last = events.last, last.receivedAt > now.advanced(orBoundBy: Ledger.clockTolerance) {
      reportFinding(
        "the newest event was received at \(Timestamp.text(last.receivedAt))",
        next: "the clock was ahead then, or is behind now: set it; receive times never decrease, "
          + "so until then every new event gets that time, and known_at counts it as received then"
      )
    }
    let ahead = events.count {
      $0.signedDate > $0.receivedAt.advanced(orBoundBy: Ledger.clockTolerance)
    }
    if ahead > 0 {
      reportFinding(
        "\(ahead) of the newest \(events.count) events were signed ahead of this clock",
        next: "the clock was behind: run a time service; nothing was lost")
    }
  }

  func examineQuarantine() throws(LedgerError) {
    guard let journal else { return }
    let counts = try journal.quarantineCounts()
    guard counts.stored > 0 else { return report("empty") }
    var sums: [String: Int64] = [:]
    let parts = try journal.quarantineByReason()
    for part in parts { sums[part.reason, default: 0] += part.count }
    // The most frequent reason first.
    let sorted = sums.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let reasons = sorted.map { "\($0.value) \($0.key)" }
    let more =
      counts.overflow > 0 ? ", and \(counts.overflow) that were only counted: it was full" : ""
    reportFinding(
      "\(counts.stored) stored: \(reasons.joined(separator: ", "))\(more)",
      next: admission(parts) + (counts.overflow > 0 ? "; then subledger recover" : ""))
  }

  /// What to do about what was not admitted: the most frequent one that the configuration can mend,
  /// one of our apps first. Anyone can send notifications of an app of his own.
  private func admission(_ parts: [JournalReader.QuarantineCount]) -> String {
    let list = "subledger quarantine list"
    let mendable = parts.filter { Self.mistakes[$0.reason] != nil && $0.bundleId != nil }
    let own = mendable.first { configuration.apps[$0.bundleId ?? ""] != nil }
    if parts.contains(where: { $0.reason == "no_app" }) {
      return list + "; content of a name that this version does not know names no app: if it is "
        + "yours, subledger quarantine admit --app ID --environment E"
    }
    guard let part = own ?? mendable.first, let id = part.bundleId,
      let mistake = Self.mistakes[part.reason]
    else { return list + "; correct the configuration and admit them, or drop them" }
    let bundleId = VisibleText.word(id)
    return "if \(bundleId) is yours, \(mistake), reload, and run subledger quarantine admit --app "
      + "\(bundleId) --reason \(part.reason); see also \(list)"
  }

  /// What the configuration lacks, by the reason of a quarantined notification.
  private static let mistakes = [
    "other_app": "add it to \"apps\"", "other_app_apple_id": "correct its \"appAppleId\"",
    "other_environment": "add the environment to its \"environments\"",
  ]

  func examineFiling() throws(LedgerError) {
    guard let count = try journal?.formerlyFiledCount(), count > 0 else { return }
    reportFinding(
      "\(count) version 1 events that name no customer at the top are filed under another purchase "
        + "than the one that they are about: an older version filed them",
      next: "to file them anew: subledger export, put the shared secret into their bodies as "
        + "\"password\", and subledger ingest into a new folder")
  }

  /// A journal of another fold: no rows of this one become live before what it holds is judged.
  func examineHeld() throws(LedgerError) {
    guard let journal, try !journal.isJudged() else { return }
    let count = try journal.unjudgedCount()
    reportFinding(
      "evidence is held by the rules of another fold, and \(count) piece\(count == 1 ? "" : "s") "
        + "of it not judged by this one yet",
      next: "start the daemon with this program, which judges it and then makes its rows live; "
        + "if it runs, wait: its log says held_judging_ended")
  }

  /// In bytes. A checkpoint normally begins at about 16 MiB.
  private static let largeWAL: Int64 = 134_217_728

  func examineWAL() {
    guard journal != nil else { return }
    let size = ((try? DurableFile.size(folder.journalWAL)) ?? nil) ?? 0
    guard size > Self.largeWAL else {
      return report("its write-ahead log has \(ReadableUnits.size(bytes: size))")
    }
    reportFinding(
      "its write-ahead log has \(ReadableUnits.size(bytes: size))",
      next: "a long-running reader keeps the journal from its checkpoint, or the disk is slow: end "
        + "that reader; a restart of the daemon copies the log")
  }
}
