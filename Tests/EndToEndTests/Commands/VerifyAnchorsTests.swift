import Foundation
import Ledger
import SignedData
import Store
import StrictJSON
import Support
import Testing

/// `verify --anchors` finds what a hash chain alone does not show (promises 1 and 5).
@Suite struct VerifyAnchorsTests {
  /// Nine events, anchored after the third, the sixth and the ninth.
  private func anchored() throws -> (Installation, URL) {
    let installation = try Installation()
    let file = installation.folder.appending(path: "anchors")
    for first in [1, 4, 7] {
      try installation.fill(first...first + 2)
      let anchor = try installation.run("anchor", "--append", file.path)
      #expect(anchor.code == 0, "\(anchor)")
    }
    return (installation, file)
  }

  private func verify(_ installation: Installation, _ file: URL) throws -> CommandResult {
    let before = try installation.bytes()
    let finished = try installation.run("verify", "--anchors", file.path)
    #expect(try installation.bytes() == before, "verify changes nothing")
    return finished
  }

  private func lines(_ file: URL) throws -> [String] {
    String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n")
      .map(String.init)
  }

  private func write(_ lines: [String], _ file: URL, end: String = "\n") throws {
    try Data((lines.joined(separator: "\n") + end).utf8).write(to: file)
  }

  private func expectFinding(
    _ finished: CommandResult, _ message: String, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(finished.code == 1, "\(finished)", sourceLocation: location)
    #expect(finished.output.contains(message), "\(finished)", sourceLocation: location)
  }

  // MARK: The journal

  @Test func `every anchor holds for an unchanged journal`() throws {
    let (installation, file) = try anchored()
    let verified = try verify(installation, file)
    #expect(verified.code == 0, "\(verified)")
    #expect(verified.output.contains("3 anchors of \(file.path) hold, up to seq 9"))
    #expect(verified.errors.contains("verify: 9 events in"))
    let report = try #require(
      try installation.run("verify", "--json", "--anchors", file.path).lines().last)
    #expect(report["anchors"]?["held"]?.integer == 3)
    #expect(report["anchors"]?["through"]?.integer == 9)
    #expect(report["anchors"]?["configured"]?.boolean == false)
    #expect(report["chain_walked"]?.boolean == true && report["only"]?.kind == .null)
    // Lines can be in any order: each is checked by itself.
    try write(try lines(file).reversed(), file)
    #expect(try verify(installation, file).code == 0)
  }

  @Test func `a journal whose end was cut breaks promise 1`() throws {
    let (installation, file) = try anchored()
    try installation.cut(after: 7)
    #expect(try installation.verify().code == 0, "the chain alone does not show it")
    let verified = try verify(installation, file)
    #expect(verified.firstLine.hasPrefix("promise 1 broken at seq 8: line 3 of"), "\(verified)")
    expectFinding(verified, "has events up to seq 9: the journal's end was lost or cut")
    expectFinding(verified, "2 anchors of \(file.path) hold, up to seq 6")
  }

  @Test(arguments: [0, 4, 8, 9]) func `a rewritten journal breaks promise 5`(from first: Int) throws
  {
    let (installation, file) = try anchored()
    let other = try Installation(authority: installation.authority)
    // The same events with the same proofs, received at other times from `first` on.
    let old = try installation.run("export").output.split(separator: "\n").prefix(first)
      .map { Array($0.utf8) }
    if !old.isEmpty {
      let ingested = try other.run("ingest", "--keep-chain", try other.file("old", old))
      #expect(ingested.code == 0, "\(ingested)")
    }
    if first < 9 { try other.fill(first + 1...9) }
    try installation.rewrite(as: other)
    #expect(try installation.verify().code == 0, "the chain alone does not show it")
    let verified = try verify(installation, file)
    guard first < 9 else {
      #expect(verified.code == 0, "the same journal: \(verified)")
      return
    }
    let seq = (first / 3 + 1) * 3
    #expect(
      verified.firstLine.hasPrefix("promise 5 broken at seq \(seq): line \(seq / 3) of"),
      "\(verified)")
    expectFinding(verified, "another history up to here: the journal was rewritten")
    let held = first / 3
    expectFinding(verified, held == 1 ? "1 anchor of" : "\(held) anchors of")
  }

  @Test func `a deleted anchored event is found`() throws {
    let (installation, file) = try anchored()
    try installation.tamper("DELETE FROM event WHERE seq = 6")
    expectFinding(try verify(installation, file), "line 2 of \(file.path) has this event")
  }

  @Test func `an anchor of an empty journal holds for every later journal`() throws {
    let installation = try Installation()
    let file = installation.folder.appending(path: "anchors")
    #expect(try installation.run("ingest", "/dev/null").code == 0)
    #expect(try installation.run("anchor", "--append", file.path).code == 0)
    try installation.fill(1...2)
    #expect(try verify(installation, file).code == 0)
  }

  /// Events and anchors are added while `verify` runs.
  @Test func `an anchor made during verify is not ahead of the journal`() throws {
    let (installation, file) = try anchored()
    let daemon = try installation.start()
    for round in 0..<5 {
      let command = try installation.launch(
        ["verify", "--anchors", file.path, "--config", installation.config.path])
      for number in 0..<3 {
        try installation.fill(10 + round * 3 + number...10 + round * 3 + number)
        #expect(try installation.run("anchor", "--append", file.path).code == 0)
      }
      let verified = try command.finish()
      #expect(verified.code == 0, "round \(round): \(verified)")
    }
    try daemon.stop()
  }

  // MARK: The file

  @Test func `a line that is not an anchor is a finding that names the line`() throws {
    let (installation, file) = try anchored()
    let good = try lines(file)
    let bad: [(String, String)] = [
      (String(good[1].dropLast(9)), "line 2 of \(file.path) is not an anchor"),
      ("", "line 2 of \(file.path) is not an anchor"),
      (
        good[1].replacing("\"seq\":6", with: "\"seq\":5"),
        "line 2 of \(file.path) is not signed by the key"
      ),
      (
        good[1].replacing(/"hash":"./) {
          $0.output == "\"hash\":\"0" ? "\"hash\":\"1" : "\"hash\":\"0"
        },
        "line 2 of \(file.path) is not signed by the key"
      ),
      (String(repeating: "x", count: 5000), "line 2 of \(file.path) is not an anchor"),
    ]
    for (line, message) in bad {
      try write([good[0], line, good[2]], file)
      let verified = try verify(installation, file)
      expectFinding(verified, message)
      expectFinding(verified, "2 anchors of \(file.path) hold, up to seq 9")
    }
  }

  @Test func `an incomplete last line is ignored`() throws {
    let (installation, file) = try anchored()
    let good = try lines(file)
    try write([good[0], good[1], String(good[2].dropLast(40))], file, end: "")
    let torn = try verify(installation, file)
    #expect(torn.code == 0 && torn.output.contains("last line is incomplete"), "\(torn)")
    #expect(torn.output.contains("2 anchors of"))
    // Complete except for the line break, it counts.
    try write(good, file, end: "")
    let whole = try verify(installation, file)
    #expect(whole.code == 0 && whole.output.contains("3 anchors of"), "\(whole)")
    try installation.cut(after: 8)
    expectFinding(try verify(installation, file), "promise 1 broken at seq 9")
  }

  @Test(arguments: ["", "\n", "{\"object\":\"anch"]) func `an emptied anchors file is a finding`(
    text: String
  ) throws {
    let (installation, file) = try anchored()
    try Data(text.utf8).write(to: file)
    let verified = try verify(installation, file)
    expectFinding(verified, text == "\n" ? "is not an anchor" : "holds no anchor: it was emptied")
  }

  @Test func `an anchor of another journal or key is a finding`() throws {
    let (installation, file) = try anchored()
    let other = try Installation(authority: installation.authority)
    try other.fill(1...9)
    // One key for both: only the journal's id differs.
    let keys = [installation, other].map { $0.data.appending(path: "anchor.key") }
    try FileManager.default.copyItem(at: keys[0], to: keys[1])
    expectFinding(try verify(other, file), "line 1 of \(file.path) is of another journal")
    try FileManager.default.removeItem(at: keys[1])
    let keyless = try verify(other, file)
    #expect(keyless.code == 3 && keyless.errors.contains("--anchor-key"), "\(keyless)")
    #expect(try other.run("anchor").code == 0)
    expectFinding(try verify(other, file), "line 1 of \(file.path) is not signed by the key")
  }

  @Test func `anchors are checked with the public key that was handed over`() throws {
    let (installation, file) = try anchored()
    let handed = installation.folder.appending(path: "public.pem")
    try Data(try installation.run("anchor", "--public-key").output.utf8).write(to: handed)
    func verify(_ key: String) throws -> CommandResult {
      try installation.run("verify", "--anchors", file.path, "--anchor-key", key)
    }
    // The owner makes another key, and anchors the rewritten journal with it.
    let key = installation.data.appending(path: "anchor.key")
    let old = try Data(contentsOf: key)
    try FileManager.default.removeItem(at: key)
    #expect(try verify(handed.path).code == 0, "needs no key of the folder's")
    let forged = installation.folder.appending(path: "forged")
    #expect(try installation.run("anchor", "--append", forged.path).code == 0)
    #expect(try installation.run("verify", "--anchors", forged.path).code == 0)
    expectFinding(
      try installation.run("verify", "--anchors", forged.path, "--anchor-key", handed.path),
      "is not signed by the key")
    for wrong in [file.path, "/nowhere/public.pem", key.path] {
      let finished = try verify(wrong)
      #expect(finished.code == 3 && finished.output.isEmpty, "\(wrong): \(finished)")
    }
    #expect(old != (try Data(contentsOf: key)))
  }

  @Test func `wrong arguments and missing files are refused`() throws {
    let (installation, file) = try anchored()
    for arguments in [
      ["--anchor-key", file.path], ["--anchors", file.path, "--only", "700"],
      ["--bundle", file.path, "--only", "700"], ["--environment", "Sandbox"],
      ["--bundle-id", "com.example.app"], ["--only"],
      ["--only", "700", "--environment", "sandbox"],
    ] {
      let finished = try installation.launch(
        ["verify", "--config", installation.config.path] + arguments
      ).finish()
      #expect(finished.code == 2 && finished.output.isEmpty, "\(arguments): \(finished)")
    }
    for missing in ["/nowhere/anchors", installation.folder.path] {
      let finished = try installation.run("verify", "--anchors", missing)
      #expect(finished.code == 3 && finished.errors.contains(missing), "\(finished)")
    }
  }

  // MARK: The configuration

  @Test func `the configured anchors file is used`() throws {
    let installation = try Installation()
    let file = installation.folder.appending(path: "anchors")
    try installation.configure(with: [("anchors", .object([("file", .string(file.path))]))])
    try installation.fill(1...3)
    // Without a key no anchor can have been signed, so a missing file is no finding.
    let unsigned = try installation.run("verify")
    #expect(unsigned.code == 0 && !unsigned.output.contains("anchors"), "\(unsigned)")
    #expect(try installation.run("anchor", "--append", file.path).code == 0)
    let verified = try installation.run("verify")
    #expect(verified.code == 0, "\(verified)")
    #expect(verified.output.contains("1 anchor of \(file.path) (configured) holds, up to seq 3"))
    #expect(try installation.verify().report["anchors"]?["configured"]?.boolean == true)
    let key = try installation.run("anchor", "--public-key").output
    let handed = try installation.file("public.pem", [Array(key.utf8)])
    #expect(try installation.run("verify", "--anchor-key", handed).code == 0)
    try installation.cut(after: 2)
    expectFinding(try installation.run("verify"), "promise 1 broken at seq 3")
    try FileManager.default.removeItem(at: file)
    expectFinding(try installation.run("verify"), "\(file.path) is missing")
    // `--only` does not use anchors.
    #expect(try installation.run("verify", "--only", "700").code == 0)
  }
}
