import Platform
import Store
import Support
import Testing

@testable import Audit

/// Lists of checks, and what they report.
@Suite struct CheckTests {
  @Test func `a damaged file ends only the check that reads it`() throws {
    let ledger = try TestLedger()
    defer { withExtendedLifetime(ledger) {} }
    let run = CheckRun(ledger.folder, .chain, threads: 1) { _, _ in true }
    try run.run([
      Check(7, reads: "the projection") { (_, _) throws(LedgerError) in throw .corrupt("a page") },
      Check { _, run in run.add(5, 2, "missing") },
    ])
    #expect(
      run.report.findings.lines == [
        "promise 5 broken at seq 2: missing",
        "promise 7 broken: the projection is damaged: not all of it can be read",
      ])
  }

  @Test func `those with the lowest seqs are retained, and all are counted`() {
    var findings = Findings()
    for seq in (1...5000).reversed() { findings.add(5, Int64(seq), "missing") }
    #expect(findings.count == 5000)
    #expect(findings.compactMap(\.seq) == Array(1...1000))
    #expect(findings.lines.count == 21 && findings.lines.last == "and 4980 more")
  }

  @Test func `an examination that fails is a finding of its topic`() throws {
    let checks = Doctor.examine(
      try TestLedger().configuration, file: nil, at: 0,
      [
        Examination("disk") { _ in { () throws(LedgerError) in throw .unavailable("gone") } },
        Examination("clock") { doctor in { doctor.report("good") } },
      ])
    #expect(checks.map(\.topic) == ["disk", "clock"])
    #expect(checks.map(\.isFinding) == [true, false])
  }
}
