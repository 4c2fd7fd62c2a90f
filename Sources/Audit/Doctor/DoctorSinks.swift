import Ledger
import Platform
import Store

/// The sinks: whether each has its place in the journal, and what it could not deliver.
extension Doctor {
  func examineSinks() throws(LedgerError) {
    guard !configuration.sinkNames.isEmpty else { return }
    let known = try SinkStore.summaries(folder)
    let names = try SinkStore.names(folder)
    for mirror in configuration.mirrors {
      report("\(mirror.name) is a mirror at \(mirror.hosts)")
      guard known[mirror.name] == nil, names.contains(mirror.name) else { continue }
      reportFinding(
        "the place of \(mirror.name) in the journal is lost; nothing is written there",
        next: "say where it goes on: subledger sink resume \(mirror.name) --from start")
    }
    let head = try folder.hasJournal() ? try JournalReader.open(folder).head().seq : 0
    for sink in configuration.sinks {
      examine(sink.name, known[sink.name], isKnown: names.contains(sink.name), head)
    }
  }

  private func examine(
    _ name: String, _ summary: SinkStore.Summary?, isKnown: Bool, _ head: Int64
  ) {
    let resume = "subledger sink resume \(name)"
    guard let summary else {
      guard isKnown else { return report("\(name) begins when the daemon starts") }
      return reportFinding(
        "the place of \(name) in the journal is lost; it sends nothing",
        next: "say where it goes on: \(resume) --from CURSOR")
    }
    switch summary.state {
    case "on":
      report(
        "\(name) is at seq \(summary.seq), \(max(0, head - summary.seq)) events behind")
    case "lost":
      reportFinding(
        "the place of \(name) in the journal is lost; it sends nothing",
        next: "say where it goes on: \(resume) --from CURSOR")
    case "gone":
      reportFinding("the receiver of \(name) answered 410 and gets nothing", next: resume)
    default:
      reportFinding("\(name) is paused", next: resume)
    }
    if summary.held > 0 || summary.dead > 0 {
      reportFinding(
        "\(name): \(summary.held) messages were refused and wait, \(summary.dead) given up",
        next: "see why: subledger sink show \(name)")
    }
  }
}
