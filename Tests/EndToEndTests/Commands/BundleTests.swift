import AppStoreSimulator
import Foundation
import StrictJSON
import Support
import Testing

/// One customer's evidence, checked with only the file, the roots and a public key.
@Suite struct BundleTests {
  private static let customer = "701"

  /// Twelve events of two customers, with an anchor after the fourth and the eighth.
  private func filled() throws -> (Installation, anchors: String) {
    let installation = try Installation()
    let anchors = installation.folder.appending(path: "anchors.ndjson").path
    for first in [1, 5, 9] {
      let lines = try (first..<first + 4).map {
        try installation.sign(Sample.notification($0, otid: "70\($0 % 2)"))
      }
      let ingested = try installation.run(
        "ingest", try installation.file("from\(first)", lines))
      guard ingested.code == 0 else { throw TestFailure("\(ingested)") }
      if first < 9 { #expect(try installation.run("anchor", "--append", anchors).code == 0) }
    }
    return (installation, anchors)
  }

  private func export(_ installation: Installation, _ arguments: String...) throws -> URL {
    let file = installation.folder.appending(path: "\(UUID().uuidString).ndjson")
    let arguments =
      ["export", "--only", Self.customer, "--bundle", file.path, "--json"] + arguments
    let made = try installation.launch(arguments + ["--config", installation.config.path]).finish()
    guard made.code == 0 else { throw TestFailure("\(made)") }
    return file
  }

  private func publicKey(_ installation: Installation) throws -> String {
    let file = installation.folder.appending(path: "key.pem")
    try Data(try installation.run("anchor", "--public-key").output.utf8).write(to: file)
    return file.path
  }

  /// Checks a bundle in an installation that has the roots, but neither data nor key.
  private func check(
    _ bundle: URL, by reader: Installation, _ arguments: String...
  ) throws -> CommandResult {
    try reader.launch(
      ["verify", "--bundle", bundle.path, "--config", reader.config.path] + arguments
    ).finish()
  }

  @Test func `a bundle is verified without a data folder`() throws {
    let (installation, _) = try filled()
    let bundle = try export(installation)
    let reader = try Installation(authority: installation.authority)
    let checked = try check(
      bundle, by: reader, "--anchor-key", try publicKey(installation), "--json")
    #expect(checked.code == 0, "\(checked)")
    let report = try #require(try checked.lines().first)
    #expect(report["events"]?.integer == 6)
    #expect(report["key_compared"]?.boolean == true)
    #expect(report["answer_compared"]?.boolean == true)
    #expect(!FileManager.default.fileExists(atPath: reader.data.path))
    // Its answer is that of `entitlement`, and its bodies are the journaled ones.
    let time = try #require(report["entitlement"]?["as_of"]?.integer)
    let row = try #require(
      try installation.run("entitlement", Self.customer, "--as-of", "\(time)", "--json")
        .lines().first)
    #expect(
      report["entitlement"]?.value.text
        == row.value.setting("succeeded_by", nil).text)
    let lines = try String(contentsOf: bundle, encoding: .utf8).split(separator: "\n")
    let exported = try installation.run("export", "--only", Self.customer).output
    let bodies = try lines.compactMap {
      try JSONDocument(parsing: Array($0.utf8)).root
    }.filter { $0["object"]?.string == "event" }.compactMap { $0["body"]?.string }
    #expect(bodies.count == 6 && bodies.allSatisfy { exported.contains($0) })
  }

  @Test func `anchors make a bundle shorter`() throws {
    let (installation, anchors) = try filled()
    func count(_ kind: String, in bundle: URL) throws -> Int {
      try String(contentsOf: bundle, encoding: .utf8).split(separator: "\n")
        .filter { $0.hasPrefix("{\"object\":\"\(kind)\"") }.count
    }
    #expect(try installation.run("anchor", "--append", anchors).code == 0)
    let more = try (13...20).map { try installation.sign(Sample.notification($0, otid: "700")) }
    #expect(try installation.run("ingest", try installation.file("more", more)).code == 0)
    // Links lead from each event to the next anchor, not from the first event to the head.
    let short = try export(installation, "--anchors", anchors)
    #expect(try count("anchor", in: short) == 3 && count("link", in: short) == 6)
    #expect(try check(short, by: installation).code == 0)
    let long = try export(installation)
    #expect(try count("anchor", in: long) == 1 && count("link", in: long) == 14)
    #expect(try check(long, by: installation).code == 0)
    // Anchors of another journal are ignored.
    let (other, _) = try filled()
    let alone = try export(other, "--anchors", anchors)
    #expect(try count("anchor", in: alone) == 1)
    #expect(try check(alone, by: other).code == 0)
  }

  @Test func `a changed byte is found`() throws {
    let (installation, anchors) = try filled()
    let bundle = try export(installation, "--anchors", anchors)
    let whole = try Data(contentsOf: bundle)
    let file = installation.folder.appending(path: "changed.ndjson")
    var dice = SeededGenerator(seed: 20_260_101)
    var offsets = (0..<40).map { _ in Int.random(in: 0..<whole.count, using: &dice) }
    offsets.append(whole.count - 1)
    for offset in offsets {
      var bytes = whole
      bytes[offset] ^= 1 << UInt8.random(in: 0..<7, using: &dice)
      try bytes.write(to: file)
      let checked = try check(file, by: installation)
      #expect(checked.code == 1, "byte \(offset): \(checked)")
      #expect(checked.firstLine.hasPrefix("promise "), "byte \(offset): \(checked)")
    }
  }

  @Test func `a removed, repeated or moved line is found`() throws {
    let (installation, anchors) = try filled()
    let bundle = try export(installation, "--anchors", anchors)
    let lines = try String(contentsOf: bundle, encoding: .utf8).split(separator: "\n")
    let file = installation.folder.appending(path: "changed.ndjson")
    for index in lines.indices {
      var (fewer, doubled, swapped) = (lines, lines, lines)
      fewer.remove(at: index)
      doubled.insert(lines[index], at: index)
      if index > 0 { swapped.swapAt(index, index - 1) }
      for changed in [fewer, doubled, index > 0 ? swapped : fewer, Array(lines[..<index])] {
        try Data((changed.joined(separator: "\n") + "\n").utf8).write(to: file)
        let checked = try check(file, by: installation)
        #expect(checked.code == 1, "line \(index + 1): \(checked)")
      }
    }
  }

  /// A bundle with another seal is found only by comparing with the right public key.
  @Test func `another key and another root are refused`() throws {
    let (installation, _) = try filled()
    let bundle = try export(installation)
    let stranger = try Installation(authority: installation.authority)
    let key = try publicKey(stranger)
    let checked = try check(bundle, by: installation, "--anchor-key", key)
    #expect(checked.code == 1, "\(checked)")
    #expect(checked.output.contains("not signed by that key"))
    let unknown = try check(bundle, by: installation)
    #expect(unknown.code == 0 && unknown.output.contains("--anchor-key"), "\(unknown)")
    // Another root does not prove the events.
    let another = try check(bundle, by: try Installation())
    #expect(another.code == 1)
    #expect(another.firstLine.hasPrefix("promise 3 broken at seq 1:"), "\(another)")
  }

  /// The journals of two installations have anchors of the same seqs.
  @Test func `anchors of another journal are not compared with a bundle`() throws {
    let (installation, anchors) = try filled()
    let (other, others) = try filled()
    defer { withExtendedLifetime(other) {} }
    let bundle = try export(installation)
    let note = "none of the given anchors is of the bundle's journal"
    let strange = try check(bundle, by: installation, "--anchors", others)
    #expect(strange.code == 1 && strange.output.contains(note), "\(strange)")
    #expect(!strange.output.contains("another history"))
    // The reader's anchors may be of several journals.
    let file = installation.folder.appending(path: "mixed.ndjson")
    for paths in [[anchors, others], [others, anchors]] {
      let lines = try paths.map { try Data(contentsOf: URL(filePath: $0)) }
      try (lines[0] + lines[1]).write(to: file)
      let checked = try check(bundle, by: installation, "--anchors", file.path)
      #expect(checked.code == 0 && !checked.output.contains(note), "\(checked)")
      #expect(
        checked.output.contains("2 of its chain hashes are in the given anchors"), "\(checked)")
    }
  }

  @Test func `a bundle answers as of a past moment`() throws {
    let (installation, _) = try filled()
    let past = try export(installation, "--as-of", "\(Sample.start + 3 * 60_000)")
    let checked = try check(past, by: installation, "--json")
    #expect(checked.code == 0, "\(checked)")
    let answer = try #require(try checked.lines().first?["entitlement"])
    #expect(answer["event_count"]?.integer == 2)
    #expect(answer["gives_access"]?.boolean == true)
  }

  @Test func `mistakes in the arguments are named`() throws {
    let (installation, _) = try filled()
    let there = try export(installation)
    for (arguments, code, text) in [
      (["export", "--bundle", "b"], 2, "--only"),
      (["export", "--only", "701", "--bundle", "b", "--output", "c"], 2, "--output"),
      (["export", "--only", "999", "--bundle", "b"], 1, "no events with this id"),
      (["export", "--only", "701", "--bundle", there.path], 3, "--force"),
      (["export", "--only", "701", "--bundle", "b", "--anchors", "none"], 3, "--anchors"),
      (["export", "--anchors", "a"], 2, "--bundle"),
      (["verify", "--bundle", "none"], 3, "check the path"),
      (["verify", "--bundle", installation.config.path], 1, "is not a line of a bundle"),
      (["verify", "--bundle", there.path, "--anchor-key", there.path], 3, "PEM"),
    ] as [([String], Int32, String)] {
      let run = try installation.launch(arguments + ["--config", installation.config.path]).finish()
      #expect(run.code == code, "\(arguments): \(run)")
      #expect((run.output + run.errors).contains(text), "\(arguments): \(run)")
    }
  }
}
