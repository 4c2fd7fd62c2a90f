import Foundation
import Store
import StrictJSON
import Support
import Testing

@testable import Audit
@testable import Ledger

/// The anchors that the daemon makes in its own folder, and the bundles that they keep small.
@Suite struct AnchoredBundleTests {
  private static let megabyte = 1_000_000
  private static let customer = "700"

  private func anchors(_ installation: Installation) -> [Anchor?] {
    let file = installation.data.appending(path: "anchors.ndjson")
    let bytes = (try? Data(wholeOf: file)) ?? Data()
    return bytes.split(separator: 0x0A).map { Anchor(parsing: Array($0)) }
  }

  private func seqs(_ installation: Installation) -> [Int64] {
    anchors(installation).compactMap { $0?.seq }
  }

  /// Exports the customer's bundle, and returns the counts that it prints.
  private func export(
    _ installation: Installation, to file: URL, _ arguments: String...
  ) throws -> JSONElement {
    let made = try installation.launch(
      [
        "export", "--only", Self.customer, "--bundle", file.path, "--force", "--json",
        "--config", installation.config.path,
      ] + arguments
    ).finish()
    #expect(made.code == 0, "\(made)")
    return try #require(try made.lines().last)
  }

  @Test func `a bundle stays under a megabyte in a journal of thousands of events`() throws {
    let installation = try Installation()
    for first in [1, 801, 1601] { try installation.fill(first...first + 799, otids: 200) }
    let bundle = installation.folder.appending(path: "bundle.ndjson")
    func size() throws -> Int { try Data(contentsOf: bundle).count }
    func verify(_ arguments: String...) throws -> CommandResult {
      try installation.launch(
        ["verify", "--bundle", bundle.path, "--config", installation.config.path] + arguments
      ).finish()
    }
    // Before a daemon ran there are no anchors: events far from the head get one each.
    let alone = try export(installation, to: bundle)
    #expect(alone["events"]?.integer == 12 && (alone["anchors"]?.integer ?? 0) > 10, "\(alone)")
    #expect(try size() < Self.megabyte)
    #expect(try verify().code == 0)
    // The daemon anchors what was imported before it started, too.
    let daemon = try installation.start()
    let expected = (1...9).map { Int64($0) * 256 } + [2400]
    try daemon.command.wait(60, "the anchors") { seqs(installation) == expected }
    let counts = try export(installation, to: bundle)
    #expect(try size() < Self.megabyte)
    #expect((counts["links"]?.integer ?? .max) <= 12 * 255)
    #expect((counts["anchors"]?.integer ?? 0) >= 9)
    let key = installation.folder.appending(path: "key.pem")
    try Data(try installation.run("anchor", "--public-key").output.utf8).write(to: key)
    #expect(try verify("--anchor-key", key.path).code == 0)
    // A copy of the anchors that is kept elsewhere is what a reader compares with.
    let own = installation.data.appending(path: "anchors.ndjson").path
    let compared = try verify("--anchor-key", key.path, "--anchors", own)
    #expect(compared.code == 0 && compared.output.contains("are in the given anchors"))
    #expect(try installation.run("verify", "--anchors", own).code == 0)
    #expect(try daemon.stop().code == 0)
    #expect(seqs(installation) == expected, "the head did not move")
  }

  /// A subscription of eight years, renewed monthly.
  @Test func `a compressed bundle of a hundred events stays under a megabyte`() throws {
    let installation = try Installation()
    try installation.fill(1...2000, otids: 20)
    let daemon = try installation.start()
    try daemon.command.wait(60, "the anchors") { seqs(installation).last == 2000 }
    let bundle = installation.folder.appending(path: "bundle.zst")
    let counts = try export(installation, to: bundle, "--compress")
    #expect(counts["events"]?.integer == 100, "\(counts)")
    #expect(try Data(contentsOf: bundle).count < Self.megabyte)
    func verify() throws -> CommandResult {
      try installation.run("verify", "--bundle", bundle.path)
    }
    #expect(try verify().code == 0)
    var bytes = try Data(contentsOf: bundle)
    bytes.removeLast()
    try bytes.write(to: bundle)
    #expect(try verify().code != 0, "its end is missing")
    #expect(try daemon.stop().code == 0)
  }

  @Test func `anchors survive a crash, and continue after one`() throws {
    let installation = try Installation()
    var daemon = try installation.start()
    #expect(daemon.client().post(try installation.sign(Sample.notification(1)))?.status == 200)
    try daemon.command.wait(60, "the first anchor") { seqs(installation) == [1] }
    try daemon.crash()
    // What a power loss leaves of a line that was not synced.
    let file = installation.data.appending(path: "anchors.ndjson")
    let whole = try Data(contentsOf: file)
    try (whole + whole.prefix(70)).write(to: file)
    try installation.fill(2...600)
    daemon = try installation.start()
    try daemon.command.wait(60, "the next anchors") { seqs(installation) == [1, 257, 513] }
    #expect(anchors(installation).count { $0 == nil } == 1)
    #expect(try Data(contentsOf: file).starts(with: whole))
    #expect(try daemon.stop().code == 0)
    #expect(seqs(installation) == [1, 257, 513, 600])
  }

  @Test func `doctor says that a copy elsewhere gives anchors force`() throws {
    let installation = try Installation()
    try installation.fill(1...2)
    let daemon = try installation.start()
    try daemon.command.wait(60, "the first anchor") { seqs(installation) == [2] }
    let doctor = try installation.run("doctor").output
    #expect(doctor.contains("anchors.ndjson is of seq 2"), "\(doctor)")
    #expect(doctor.contains("a copy elsewhere is what gives anchors force"), "\(doctor)")
    try daemon.stop()
  }

  @Test func `a bundle of an earlier release still verifies`() throws {
    let folder = Bundle.module.bundleURL.appending(path: "Fixtures")
    let installation = try Installation()
    try installation.configure(with: [
      ("trustRoots", .array([.string(folder.appending(path: "bundle-root.pem").path)]))
    ])
    let checked = try installation.run(
      "verify", "--bundle", folder.appending(path: "bundle.ndjson").path, "--anchor-key",
      folder.appending(path: "bundle-key.pem").path, "--json")
    let report = try #require(try checked.lines().first, "\(checked)")
    #expect(report["events"]?.integer == 2 && report["anchors"]?.integer == 1)
    #expect(report["key_compared"]?.boolean == true)
    // A later fold cannot compare the answer, and says so; all else holds for ever.
    let others = report["findings"]?.elements.filter {
      $0["what"]?.string?.hasPrefix("the answer is of another fold") != true
    }
    #expect(others?.isEmpty == true, "\(checked)")
  }

  @Test func `the schedule fills in what the head passed at once`() {
    var schedule = AnchorSchedule(Configuration.Anchors(file: "x"))
    #expect(schedule.due(0, at: 0).isEmpty)
    #expect(schedule.due(600, at: 0) == [256, 512, 600])
    schedule.record(600, at: 0)
    #expect(schedule.due(855, at: 0).isEmpty && schedule.due(856, at: 0) == [856])
    #expect(schedule.due(1200, at: 59 * 60_000) == [856, 1112])
    #expect(schedule.due(1200, at: 60 * 60_000) == [856, 1112, 1200])
    #expect(schedule.due(1200, at: 0, isLast: true) == [856, 1112, 1200])
    let all = schedule.due(1 << 40, at: 0, isLast: true)
    #expect(all.count == AnchorSchedule.maximumAtOnce && all.last == 600 + 4096 * 256)
  }
}
