import Configuration
import Encoding
import JournalStore
import LedgerEngine
import Observability
import Platform

/// What was recorded: arrivals, quarantine, the write-ahead log, rows, anchors.
extension Doctor {
  /// Events that are looked at one by one.
  private static let newest: Int64 = 500

  mutating func examineJournal() {
    attempt("journal") { (doctor) throws(StoreError) in
      guard try doctor.folder.hasJournal() else {
        return doctor.note("journal", "there is none yet: the first start makes it")
      }
      let reader = try JournalReader.open(doctor.folder)
      let head = try reader.head()
      doctor.note(
        "journal",
        "\(head.seq) events, "
          + (try doctor.folder.isLocked() ? "a daemon runs" : "no daemon runs"))
      let events = try reader.events(
        after: max(0, head.seq - Self.newest), limit: Int(Self.newest))
      doctor.examineClock(events)
      doctor.examineChains(events)
      try doctor.examineArrivals(reader)
      try doctor.examineQuarantine(reader)
      doctor.examineWAL()
      try doctor.examineRows(head)
    }
  }

  /// Ahead of our clock by this many milliseconds: clocks differ.
  private static let tolerance: Int64 = 300_000

  private mutating func examineClock(_ events: [StoredEvent]) {
    if let last = events.last, last.receivedAt > now + Self.tolerance {
      find(
        "clock", "the newest event was received at \(Timestamp.text(last.receivedAt))",
        next: "the clock was ahead then, or is behind now: set it; receive times never fall, so "
          + "until then every new event gets that time")
    }
    let ahead = events.count { $0.signedDate > $0.receivedAt + Self.tolerance }
    if ahead > 0 {
      find(
        "clock", "\(ahead) of the newest \(events.count) events were signed ahead of this clock",
        next: "the clock was behind: run a time service; nothing was lost")
    }
  }

  // MARK: Silence

  private static let remembered = 200

  private mutating func examineArrivals(_ reader: JournalReader) throws(StoreError) {
    for app in configuration.apps.values.sorted(by: { $0.bundleId < $1.bundleId }) {
      var heard = false
      for environment in app.environments.sorted() {
        let times = try reader.arrivals(
          environment: environment, bundleId: app.bundleId, limit: Self.remembered + 1)
        heard = heard || !times.isEmpty
        examineSilence("\(app.bundleId) \(environment)", times, environment == "Production")
      }
      guard !heard else { continue }
      find(
        "arrivals", "\(app.bundleId): no notification was ever journaled",
        next: "App Store Connect, App Information: give the URL "
          + "https://your.host/v1/notifications, version 2, for both environments, and have Apple "
          + "send a test; look at the quarantine too")
    }
  }

  /// - Parameter times: the newest first.
  private mutating func examineSilence(_ name: String, _ times: [Int64], _ isProduction: Bool) {
    guard let last = times.first else { return note("arrivals", "\(name): none yet") }
    let silence = max(0, now - last)
    let gaps = zip(times, times.dropFirst()).map { $0 - $1 }
    let longest = gaps.max() ?? 0
    var words = "\(name): the last one \(Self.words(silence)) ago"
    // A handful of gaps says nothing about the next one.
    guard gaps.count >= 20 else { return note("arrivals", words) }
    words += "; the longest pause among the last \(times.count) was \(Self.words(longest))"
    guard isProduction, silence > 2 * longest, silence > 3_600_000 else {
      return note("arrivals", words)
    }
    find(
      "arrivals", words,
      next: "that is unusual: ask for https://your.host/readyz from outside, look at the proxy's "
        + "log and certificate, and at App Store Connect's URL; Apple repeats for some days, and "
        + "keeps a history")
  }

  // MARK: Quarantine and files

  private mutating func examineQuarantine(_ reader: JournalReader) throws(StoreError) {
    let counts = try reader.quarantineCounts()
    guard counts.kept > 0 else { return note("quarantine", "empty") }
    var sums: [String: Int64] = [:]
    for part in try reader.quarantineByReason() { sums[part.reason, default: 0] += part.count }
    // The most frequent first.
    let sorted = sums.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let reasons = sorted.map { "\($0.value) \($0.key)" }
    let more = counts.overflow > 0 ? ", and \(counts.overflow) of other apps only counted" : ""
    find(
      "quarantine", "\(counts.kept) kept: \(reasons.joined(separator: ", "))\(more)",
      next: "subledger quarantine list; mend the configuration and admit them, or drop them")
  }

  /// Bytes: a checkpoint begins at some 16 MiB.
  private static let largeWAL: Int64 = 134_217_728

  private mutating func examineWAL() {
    let size = ((try? DurableFile.size(folder.journalWAL)) ?? nil) ?? 0
    guard size > Self.largeWAL else {
      return note("journal", "its write-ahead log has \(Self.words(bytes: size))")
    }
    find(
      "journal", "its write-ahead log has \(Self.words(bytes: size))",
      next: "something has been reading the journal for long, or the disk is slow: end it; a "
        + "restart of the daemon copies the log")
  }

  // MARK: Rows

  private mutating func examineRows(_ head: Head) throws(StoreError) {
    let list = try ProjectionList.read(folder)
    guard list.live != nil else {
      guard head.seq > 0 else { return note("rows", "none yet") }
      return find(
        "rows", "no rows are live: reads answer 503",
        next: "start the daemon, which builds them, or run subledger rebuild --apply")
    }
    let rows = try ProjectionReader.open(folder)
    let identity = try rows.identity()
    let lag = head.seq - (try rows.foldedThrough())
    let isOwn = identity.fingerprint == FoldIdentity.fingerprint
    note(
      "rows",
      "fold \(identity.foldVersion) is live, \(lag) events behind the journal"
        + (isOwn ? "" : "; this program has another fold, \(FoldIdentity.version)"))
    if list.isHeld {
      note("rows", "somebody went back to them; rebuild --apply goes forth again")
    } else if !isOwn {
      find(
        "rows", "the live rows are of another fold than this program's",
        next: "start the daemon with this program, or run subledger rebuild --diff to see what "
          + "changes")
    }
    if let broken = try rows.broken(limit: 1).first?.broken {
      find(
        "rows", "the fold of at least one customer failed: \(VisibleText.of(broken))",
        next: "subledger verify; the journal is good or it says where not")
    }
  }

  // MARK: Anchors

  mutating func examineAnchors() {
    let key: AnchorKey?
    do throws(AnchorError) {
      key = try AnchorKey.read(folder)
    } catch {
      return find("anchors", "\(error)", next: "see the message")
    }
    if let key {
      let pem = String(decoding: key.publicPEM, as: UTF8.self).split(separator: "\n")
      note("anchors", "public key " + (pem.count > 2 ? pem[1..<pem.count - 1].joined() : ""))
    }
    guard let settings = configuration.anchors else {
      return note("anchors", "none configured: who owns the files can rewrite all of them")
    }
    if settings.file.hasPrefix(folder.path + "/") {
      find(
        "anchors", "\(settings.file) lies beside the journal",
        next: "name a file on another volume: who can rewrite one can rewrite both")
    }
    attempt("anchors") { (doctor) throws(StoreError) in
      try doctor.examineAnchors(in: settings, key)
    }
  }

  private mutating func examineAnchors(
    in settings: Configuration.Anchors, _ key: AnchorKey?
  ) throws(StoreError) {
    guard try folder.hasJournal() else { return }
    let head = try JournalReader.open(folder).head().seq
    let id = try Anchor.journalId(of: folder)
    let tail = (try? AppendedFile.tail(settings.file, bytes: 16 * Anchor.maximumLine)) ?? []
    let last = tail.split(separator: 0x0A).reversed().lazy
      .compactMap { Anchor(parsing: Array($0)) }
      .first { anchor in
        anchor.journalId == id && key.map { anchor.isSigned(by: $0.publicKey) } ?? true
      }
    guard let last else {
      guard head > 0 else { return note("anchors", "none yet") }
      return find(
        "anchors", "\(settings.file) has no anchor of this journal",
        next: "look whether the daemon may write there; its log says anchors_failed")
    }
    let words = "the last is of seq \(last.seq), \(Self.words(max(0, now - last.at))) ago"
    if last.seq > head {
      find(
        "anchors", words + ", and the journal ends at \(head)",
        next: "events were lost: subledger verify, then restore a backup")
    } else if try folder.isLocked(), head > last.seq,
      now - last.at > 2 * settings.minutes * 60_000 + Self.tolerance
    {
      find(
        "anchors", words + ", and the head moved on",
        next: "look whether the daemon may write \(settings.file); its log says anchors_failed")
    } else {
      note("anchors", words)
    }
  }
}
