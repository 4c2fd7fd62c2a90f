import AppStore
import Platform
import Recovery
import Store

/// The gap report as text.
enum RecoverText {
  private static let indent = 2
  /// Outages that are listed at most; JSON has all.
  private static let mostOutages = 20

  static func text(_ report: GapReport) -> String {
    var paragraph = TextWrapper()
    for account in report.accounts { add(account, report, to: &paragraph) }
    if report.isDry { paragraph.add("Dry run: nothing was journaled.") }
    return paragraph.text
  }

  private static func add(
    _ account: GapReport.Account, _ report: GapReport, to paragraph: inout TextWrapper
  ) {
    paragraph.add(
      "\(account.environment)  \(account.bundleId)  \(time(account.window.lowerBound)) to "
        + time(min(account.window.upperBound, report.plan.startedAt)))
    func line(_ text: String) { paragraph.add(text, indent: indent, hanging: indent + 2) }
    let customers = CountText.of(account.recovered.customers, "customers")
    let verb = report.isDry ? "missing" : "recovered"
    line(
      "\(account.listed) listed by Apple, \(account.events) \(verb)"
        + (account.events == 0 ? "" : " of \(customers)"))
    for type in account.types {
      let name = [type.kind.notificationType, type.kind.subtype].compactMap { $0 }
        .joined(separator: " / ")
      paragraph.add("\(type.count)  \(name)", indent: indent * 2)
    }
    if account.delivered > 0 {
      line(
        "ALARM: Apple believes \(CountText.of(account.delivered, "notifications")) delivered that "
          + "this ledger did not have: another server answered, or events were lost after the "
          + "answer"
          + seqs(account.delivered, account.deliveredSeqs))
    }
    if account.beforeImport > 0 {
      line(
        "\(account.beforeImport) that Apple delivered elsewhere before the import, which has what "
          + "they say")
    }
    if let gone = account.gone, !gone.isEmpty {
      line(
        "GONE: Apple has nothing any more from \(time(gone.lowerBound)) to "
          + "\(time(gone.upperBound)); what was sent then cannot be recovered from its history")
    }
    for item in account.refused {
      line("REFUSED: \(item.count) with \(item.code); see: subledger quarantine list")
    }
    if account.conflicts > 0 {
      line("CONFLICT: \(account.conflicts) with another content; see: subledger quarantine list")
    }
    addOutages(account, to: &paragraph)
    if account.answeredLate > 0 {
      line("\(account.answeredLate) that the ledger has, though Apple got no answer in time")
    }
    if account.unlisted > 0 {
      line(
        "\(CountText.of(account.unlisted, "events")) of the journal that Apple does not list"
          + seqs(account.unlisted, account.unlistedSeqs))
    }
    if let error = account.error { line("not complete: \(error)") }
    paragraph.addBlank()
  }

  private static func addOutages(
    _ account: GapReport.Account, to paragraph: inout TextWrapper
  ) {
    for outage in account.outages.suffix(mostOutages) {
      let end = outage.to.map { "to \(time($0))" } ?? "and no success since"
      paragraph.add(
        "outage \(time(outage.from)) \(end): \(CountText.of(outage.attempts, "attempts")) failed "
          + "with \(outage.cause)", indent: indent, hanging: indent + 2)
    }
    let more = account.outages.count - mostOutages
    if more > 0 {
      paragraph.add("\(CountText.of(more, "earlier outages")); see --json", indent: indent)
    }
  }

  private static func time(_ milliseconds: Int64) -> String { Timestamp.text(milliseconds) }

  private static func seqs(_ count: Int64, _ seqs: [Int64]) -> String {
    guard !seqs.isEmpty else { return "" }
    let more = count > Int64(seqs.count) ? " …" : ""
    return " (seq " + seqs.map(String.init).joined(separator: ", ") + more + ")"
  }
}
