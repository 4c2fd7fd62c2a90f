import Ledger
import Platform
import Store

/// The key of the anchors, and the file that the daemon appends them to.
extension Doctor {
  func examineAnchors() throws(LedgerError) {
    let key = try AnchorKey.read(folder)
    if let key {
      let pem = String(decoding: key.publicPEM, as: UTF8.self).split(separator: "\n")
      report("public key " + (pem.count > 2 ? pem[1..<pem.count - 1].joined() : ""))
    }
    let own = Configuration.Anchors(file: folder.anchors)
    try examineAnchors(in: own, key)
    guard let settings = configuration.anchors else {
      return report(
        "none elsewhere: the owner of the files can rewrite all of them unnoticed; a copy "
          + "elsewhere is what gives anchors force")
    }
    if settings.file.hasPrefix(folder.path + "/") {
      reportFinding(
        "\(settings.file) is stored beside the journal",
        next: "name a file on another volume: anyone who can rewrite one can rewrite both")
    }
    if settings.file != own.file { try examineAnchors(in: settings, key) }
  }

  private func examineAnchors(
    in settings: Configuration.Anchors, _ key: AnchorKey?
  ) throws(LedgerError) {
    guard let journal else { return }
    let head = try journal.head().seq
    let id = Hexadecimal.encode(try journal.journalId())
    let tail = (try? AppendedFile.tail(settings.file, bytes: 16 * Anchor.maximumLine)) ?? []
    let last = tail.split(separator: 0x0A).reversed().lazy
      .compactMap { Anchor(parsing: Array($0)) }
      .first { anchor in
        anchor.journalId == id && key.map { anchor.isSigned(by: $0.publicKey) } ?? true
      }
    guard let last else {
      guard head > 0, settings.file != folder.anchors else {
        return report("none yet in \(settings.file)")
      }
      return reportFinding(
        "\(settings.file) has no anchor of this journal",
        next: "check whether the daemon can write there; its log then says anchors_failed")
    }
    let age = ReadableUnits.duration(milliseconds: max(0, now - last.at))
    let text = "the last in \(settings.file) is of seq \(last.seq), \(age) ago"
    if last.seq > head {
      reportFinding(
        text + ", and the journal ends at \(head)",
        next: "events were lost: subledger verify, then restore a backup")
    } else if try folder.isLocked(), head > last.seq,
      now - last.at > 2 * settings.minutes * 60_000 + Ledger.clockTolerance
    {
      reportFinding(
        text + ", and the head moved on",
        next:
          "check whether the daemon can write \(settings.file); its log then says anchors_failed")
    } else {
      report(text)
    }
  }
}
