import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// False bundles, sealed by the right key: its owner is the one who could make them.
@Suite struct BundleLiesTests {
  private struct Made {
    let installation: Installation
    var lines: [JSONValue]

    var entries: [Int] { lines.indices.filter { lines[$0]["seq"] != nil } }
    var answer: Int { lines.count - 1 }
  }

  /// Six events of a customer, linked to one anchor; without the seal.
  private func made() throws -> Made {
    let installation = try Installation()
    let posts = try (1...6).map { try installation.sign(Sample.notification($0)) }
    _ = try installation.run("ingest", try installation.file("all", posts))
    let file = installation.folder.appending(path: "true.ndjson")
    let exported = try installation.run("export", "--only", "7000", "--bundle", file.path)
    guard exported.code == 0 else { throw TestFailure("\(exported)") }
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").dropLast()
    return Made(
      installation: installation,
      lines: try lines.map { try JSONDocument(parsing: Array($0.utf8)).root.value })
  }

  private func check(_ made: Made) throws -> CommandResult {
    let installation = made.installation
    let key = try Ed25519Key(
      pem: Array(try Data(contentsOf: installation.data.appending(path: "anchor.key"))))
    var bytes: [UInt8] = []
    for line in made.lines { bytes += line.bytes + [0x0A] }
    let sha256 = SHA256.hash(bytes)
    let signature = try key.sign(Array("subledger.bundle.v1".utf8) + [0] + sha256)
    let seal = JSONValue.object([
      ("object", .string("seal")),
      ("sha256", .string(sha256.map { String(format: "%02x", $0) }.joined())),
      ("public_key", .string(Data(key.publicKey.raw).base64EncodedString())),
      ("signature", .string(Data(signature).base64EncodedString())),
    ])
    bytes += seal.bytes + [0x0A]
    let file = installation.folder.appending(path: "lie.ndjson")
    try Data(bytes).write(to: file)
    let pem = installation.folder.appending(path: "public.pem")
    try Data(try installation.run("anchor", "--public-key").output.utf8).write(to: pem)
    return try installation.run("verify", "--bundle", file.path, "--anchor-key", pem.path)
  }

  private func expectRefused(_ made: Made, _ finding: String) throws {
    let checked = try check(made)
    #expect(checked.code == 1, "\(checked)")
    #expect(checked.output.contains(finding), "\(checked)")
    #expect(checked.output.contains("does not hold"))
  }

  @Test func `an unchanged bundle holds`() throws {
    let checked = try check(try made())
    #expect(checked.code == 0 && checked.output.contains("the bundle holds"), "\(checked)")
  }

  @Test func `a false answer is found`() throws {
    let whole = try made()
    var lie = whole
    lie.lines[lie.answer] = lie.lines[lie.answer].setting("signed_by", .integer(Sample.start))
    try expectRefused(lie, "is not an answer after an anchor")
    lie = whole
    lie.lines[lie.answer] = lie.lines[lie.answer]
      .setting("entitlement.gives_access", .boolean(true))
    try expectRefused(lie, "not what these events fold to")
    lie.lines[lie.answer] = lie.lines[lie.answer].setting("fold_fingerprint", .string("00"))
    try expectRefused(lie, "is of another fold")
  }

  @Test func `a false seq or chain hash is found`() throws {
    let whole = try made()
    var lie = whole
    lie.lines[lie.entries[0]] = lie.lines[lie.entries[0]].setting("seq", .integer(.max))
    try expectRefused(lie, "the chain cannot begin here")
    lie = whole
    // After a true segment, one that continues from an invented hash.
    lie.lines.insert(
      .object([
        ("object", .string("before")), ("seq", .integer(6)),
        ("hash", .string(String(repeating: "ab", count: 32))),
      ]), at: lie.answer)
    try expectRefused(lie, "from another hash than the one it reached")
    lie = whole
    lie.lines.removeSubrange(1..<lie.answer)
    try expectRefused(lie, "there is no event to answer from")
  }

  /// The journal is filled again with other receive times; an anchor of the first one is retained.
  @Test func `a bundle of a rewritten journal contradicts a retained anchor`() throws {
    let installation = try Installation()
    let file = installation.folder.appending(path: "retained.ndjson").path
    let post = try installation.sign(Sample.notification(1))
    // The journal's id is that of the empty journal.
    #expect(try installation.run("ingest", "/dev/null").code == 0)
    let empty = installation.folder.appending(path: "empty.sqlite")
    try FileManager.default.copyItem(at: installation.journal, to: empty)
    _ = try installation.run("ingest", try installation.file("one", [post]))
    #expect(try installation.run("anchor", "--append", file).code == 0)
    func verifyBundle(_ name: String) throws -> CommandResult {
      let bundle = installation.folder.appending(path: name).path
      #expect(try installation.run("export", "--only", "7000", "--bundle", bundle).code == 0)
      return try installation.run("verify", "--bundle", bundle, "--anchors", file)
    }
    let good = try verifyBundle("first.ndjson")
    #expect(good.code == 0 && good.output.contains("1 of its chain hashes"), "\(good)")
    func refill(_ begin: () throws -> Void) throws {
      try installation.removeProjections()
      try FileManager.default.removeItem(at: installation.journal)
      try begin()
      _ = try installation.run("ingest", try installation.file("one", [post]))
    }
    try refill { try FileManager.default.copyItem(at: empty, to: installation.journal) }
    let found = try verifyBundle("second.ndjson")
    #expect(found.code == 1 && found.output.contains("has another history"), "\(found)")
    // A new journal has another id, and `verify` says that the anchor is not of it.
    try refill {}
    let new = try verifyBundle("third.ndjson")
    #expect(new.code == 1 && !new.output.contains("chain hashes"), "\(new)")
    #expect(new.output.contains("none of the given anchors is of the bundle's journal"), "\(new)")
  }

  @Test func `a bundle is verified from a pipe`() throws {
    let whole = try made()
    let verified = try RunningCommand(
      [
        "-c", "cat true.ndjson | \"$0\" verify --bundle /dev/stdin --config config.json",
        RunningCommand.program.path,
      ], in: whole.installation.folder, program: URL(filePath: "/bin/bash")
    ).finish()
    #expect(verified.code == 0, "\(verified)")
  }

  /// `--force` does not replace links and pipes.
  @Test func `export replaces only a regular file`() throws {
    let whole = try made()
    let folder = whole.installation.folder
    let link = folder.appending(path: "link").path
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "nowhere")
    let pipe = folder.appending(path: "pipe").path
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [link, pipe] {
      for arguments in [["--output", path], ["--only", "7000", "--bundle", path]] {
        let run = try whole.installation.launch(
          ["export", "--force", "--config", whole.installation.config.path] + arguments
        ).finish()
        #expect(run.code == 3 && run.errors.contains("is not a regular file"), "\(run)")
      }
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "nowhere")
  }
}
