import Foundation
import StrictJSON
import Support
import Testing

/// The journal as a file: complete, the same bytes every time, and enough for another journal.
@Suite struct ExportTests {
  /// Thirteen events of four customers, one of them delivered twice.
  private func filled() throws -> Installation {
    let installation = try Installation()
    let lines = try (1...12).map { number in
      try installation.sign(Sample.notification(number, otid: "700\(number % 3)"))
    }
    let file = try installation.file("all", lines + [lines[4]])
    #expect(try installation.run("ingest", file).code == 0)
    // One that Apple's history had.
    let body = try installation.sign(Sample.notification(13))
    let line = Array("{\"arrival\":\"history\",\"body\":".utf8) + body + Array("}".utf8)
    #expect(try installation.run("ingest", try installation.file("one", [line])).code == 0)
    return installation
  }

  private func file(_ installation: Installation, _ name: String) -> String {
    installation.folder.appending(path: name).path
  }

  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

  @Test(arguments: [false, true])
  func `an export that was ingested elsewhere is exported again with the same bytes`(
    isCompressed: Bool
  ) throws {
    let one = try filled()
    let first = file(one, "first")
    let form = isCompressed ? ["--compress"] : []
    func run(_ installation: Installation, _ arguments: [String]) throws -> CommandResult {
      try installation.launch(arguments + ["--config", installation.config.path]).finish()
    }
    let exported = try run(one, ["export", "--output", first] + form)
    #expect(exported.code == 0 && exported.output.contains("13 events"), "\(exported)")
    for keeps in [true, false] {
      let other = try one.copy()
      try FileManager.default.removeItem(at: other.data)
      let flags = keeps ? ["--keep-chain"] : []
      let taken = try run(other, ["ingest", first] + flags)
      #expect(taken.code == 0, "\(taken)")
      #expect(try one.verify().report["digest"]?.string == other.verify().report["digest"]?.string)
      let second = file(other, "second")
      #expect(try run(other, ["export", "--output", second] + form).code == 0)
      #expect(try bytes(first) == bytes(second))
    }
  }

  /// A line after a removed, changed or moved one does not chain; no later line is journaled.
  @Test func `keep-chain stops at the first line that does not chain`() throws {
    let one = try filled()
    let exported = try one.run("export")
    let lines = exported.output.split(separator: "\n").map(String.init)
    #expect(lines.count == 13 && exported.errors.contains("13 events"), "\(exported)")
    var moved = lines
    moved.swapAt(3, 4)
    let later = lines[3].replacing(
      "\"received_at_ms\":1", with: "\"received_at_ms\":2", maxReplacements: 1)
    let altered = Array(lines[..<3]) + [later]
    for text in [Array(lines[..<3] + lines[4...]), moved, altered] {
      let other = try one.copy()
      try FileManager.default.removeItem(at: other.data)
      let name = try other.file("lines", text.map { Array($0.utf8) })
      let taken = try other.run("ingest", name, "--keep-chain")
      #expect(taken.code == 1 && taken.errors.contains("line 4 was refused"), "\(taken)")
      #expect(try other.events().count == 3)
      // The folder is not empty any more.
      #expect(try other.run("ingest", name, "--keep-chain").code == 2)
    }
    let plain = try one.copy()
    try FileManager.default.removeItem(at: plain.data)
    let bare = try plain.file("bare", [try plain.sign(Sample.notification(40))])
    #expect(try plain.run("ingest", bare, "--keep-chain").errors.contains("line 1 was refused"))
    let daemon = try plain.start()
    #expect(try plain.run("ingest", bare, "--keep-chain").code == 2)
    try daemon.stop()
  }

  @Test func `one customer is exported beside a daemon`() throws {
    let installation = try filled()
    let daemon = try installation.start()
    let exported = try installation.run("export", "--only", "7001")
    let lines = try exported.lines()
    #expect(lines.compactMap { $0["seq"]?.integer } == [1, 4, 7, 10])
    #expect(lines.allSatisfy { $0["body"]?["signedPayload"]?.string?.hasPrefix("eyJ") ?? false })
    #expect(try installation.run("export", "--only", "1").code == 1)
    try daemon.stop()
  }

  @Test func `an existing file is not replaced and a damaged one is not ingested`() throws {
    let installation = try filled()
    let path = file(installation, "there")
    try Data("mine".utf8).write(to: URL(filePath: path))
    let refused = try installation.run("export", "--output", path)
    #expect(refused.code == 3 && refused.errors.contains("--force"), "\(refused)")
    #expect(try bytes(path) == Data("mine".utf8))
    #expect(try installation.run("export", "--output", path, "--force").code == 0)
    #expect(try bytes(path).count > 1000)
    #expect(try installation.run("export", "--output", "/no/such/folder/x").code == 3)
    // A truncated compressed file is reported as damaged, not read as a shorter one.
    #expect(try installation.run("export", "--output", path, "--force", "--compress").code == 0)
    let whole = try bytes(path)
    for damaged in [whole.dropLast(9), whole.prefix(40)] {
      try Data(damaged).write(to: URL(filePath: path))
      let taken = try installation.run("ingest", path)
      #expect(taken.code == 3 && taken.errors.contains("damaged"), "\(taken)")
    }
  }
}
