import Ledger
import Platform
import Store

/// The sinks: whether each has its place in the journal, and what it could not deliver.
extension Doctor {
  mutating func examineSinks() {
    guard !configuration.sinks.isEmpty || !configuration.mirrors.isEmpty else { return }
    attempt("sinks") { (doctor) throws(LedgerError) in
      let known = try SinkStore.summaries(doctor.folder)
      let names = try SinkStore.names(doctor.folder)
      for mirror in doctor.configuration.mirrors {
        doctor.report("sinks", "\(mirror.name) is a mirror at \(mirror.hosts)")
        guard known[mirror.name] == nil, names.contains(mirror.name) else { continue }
        doctor.reportFinding(
          "sinks", "the place of \(mirror.name) in the journal is lost; nothing is written there",
          next: "say where it goes on: subledger sink resume \(mirror.name) --from start")
      }
      let head =
        try doctor.folder.hasJournal() ? try JournalReader.open(doctor.folder).head().seq : 0
      for sink in doctor.configuration.sinks {
        doctor.examine(sink.name, known[sink.name], isKnown: names.contains(sink.name), head)
      }
    }
  }

  private mutating func examine(
    _ name: String, _ summary: SinkStore.Summary?, isKnown: Bool, _ head: Int64
  ) {
    let resume = "subledger sink resume \(name)"
    guard let summary else {
      guard isKnown else { return report("sinks", "\(name) begins when the daemon starts") }
      return reportFinding(
        "sinks", "the place of \(name) in the journal is lost; it sends nothing",
        next: "say where it goes on: \(resume) --from CURSOR")
    }
    switch summary.state {
    case "on":
      report(
        "sinks", "\(name) is at seq \(summary.seq), \(max(0, head - summary.seq)) events behind")
    case "lost":
      reportFinding(
        "sinks", "the place of \(name) in the journal is lost; it sends nothing",
        next: "say where it goes on: \(resume) --from CURSOR")
    case "gone":
      reportFinding("sinks", "the receiver of \(name) answered 410 and gets nothing", next: resume)
    default:
      reportFinding("sinks", "\(name) is paused", next: resume)
    }
    if summary.held > 0 || summary.dead > 0 {
      reportFinding(
        "sinks",
        "\(name): \(summary.held) messages were refused and wait, \(summary.dead) given up",
        next: "see why: subledger sink show \(name)")
    }
  }
}
