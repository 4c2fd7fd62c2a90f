import Foundation
import Platform
import SignedData
import StrictJSON
import Support
import Testing

@testable import Audit

/// `anchor`: one signed line, by a key that is made once and stays private (promise 5).
@Suite struct AnchorTests {
  private func filled(_ events: Int = 3) throws -> Installation {
    let installation = try Installation()
    let lines = try (1...events).map { try installation.sign(Sample.notification($0)) }
    let ingested = try installation.run("ingest", try installation.file("all", lines))
    #expect(ingested.code == 0, "\(ingested)")
    return installation
  }

  private func anchor(_ installation: Installation, _ arguments: String...) throws -> Anchor {
    let finished = try installation.launch(
      ["anchor", "--config", installation.config.path] + arguments
    ).finish()
    #expect(finished.code == 0, "\(finished)")
    let lines = finished.output.split(separator: "\n")
    #expect(lines.count == 1)
    return try #require(Anchor(parsing: Array((lines.first ?? "").utf8)))
  }

  private func key(_ installation: Installation) throws -> Ed25519PublicKey {
    let finished = try installation.run("anchor", "--public-key")
    #expect(finished.code == 0, "\(finished)")
    return try #require(Ed25519PublicKey(pem: Array(finished.output.utf8)))
  }

  private func keyFile(_ installation: Installation) -> URL {
    installation.data.appending(path: "anchor.key")
  }

  private func mode(_ file: URL) throws -> Int {
    try #require(
      try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int)
  }

  // MARK: The line

  @Test func `an anchor is the head of the journal, signed by the key of the folder`() throws {
    let installation = try filled()
    let before = Int64(Date().timeIntervalSince1970 * 1000)
    let anchor = try anchor(installation)
    let head = try #require(try installation.events().last)
    #expect(anchor.seq == 3 && head["seq"]?.integer == 3)
    #expect(Hexadecimal.encode(anchor.hash) == head["hash"]?.string)
    #expect((before...before + 60_000).contains(anchor.at))
    let key = try key(installation)
    #expect(anchor.isSigned(by: key))
    #expect(!anchor.isSigned(by: try Ed25519Key.generate().publicKey))
    #expect(try mode(keyFile(installation)) == 0o600)
  }

  /// Others can check an anchor without this program: `openssl pkeyutl -verify -rawin` verifies it.
  @Test func `openssl verifies the signature of an anchor`() throws {
    let installation = try filled()
    let anchor = try anchor(installation)
    let folder = installation.folder
    var message = Data("subledger.anchor.v1".utf8) + [0, 0, 0, 0, 32]
    message += Data(anchor.journalId.utf8) + [0, 0, 0, 0, 0, 0, 0, 3] + Data(anchor.hash)
    message += withUnsafeBytes(of: anchor.at.bigEndian) { Data($0) }
    try message.write(to: folder.appending(path: "message"))
    try Data(anchor.signature).write(to: folder.appending(path: "signature"))
    try Data(key(installation).pem).write(to: folder.appending(path: "public.pem"))
    let openssl = URL(filePath: "/usr/bin/openssl")
    guard FileManager.default.isExecutableFile(atPath: openssl.path) else { return }
    func verify() throws -> Int32 {
      try RunningCommand(
        [
          "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "public.pem", "-in", "message",
          "-sigfile", "signature",
        ], in: folder, program: openssl
      ).finish().code
    }
    #expect(try verify() == 0)
    message[40] ^= 1
    try message.write(to: folder.appending(path: "message"))
    #expect(try verify() != 0)
  }

  @Test func `a change of any member breaks the signature`() throws {
    let installation = try filled()
    let anchor = try anchor(installation)
    let key = try key(installation)
    let other = try Ed25519Key.generate().publicKey
    let hash = Hexadecimal.encode(SHA256.hash(anchor.hash))
    let changes: [(String, JSONValue)] = [
      ("journal_id", .string(String(anchor.journalId.reversed()))), ("seq", .integer(4)),
      ("hash", .string(hash)), ("at", .integer(anchor.at + 1)),
      ("public_key", .string(String(decoding: Base64.encode(other.raw), as: UTF8.self))),
      (
        "signature",
        .string(String(decoding: Base64.encode(anchor.signature.reversed()), as: UTF8.self))
      ),
    ]
    for (name, value) in changes {
      let changed = try #require(Anchor(parsing: anchor.json.setting(name, value).bytes))
      #expect(!changed.isSigned(by: key), "\(name)")
      #expect(!changed.isSigned(by: other), "\(name)")
    }
    #expect(Anchor(parsing: anchor.line) == anchor)
  }

  @Test func `only a well-formed anchor line is parsed`() throws {
    let anchor = try anchor(try filled(1))
    let text = String(decoding: anchor.line, as: UTF8.self)
    let hash = Hexadecimal.encode(anchor.hash)
    for wrong in [
      "", "{}", "[]", text + "x", String(text.dropLast()), text + text,
      text.replacing("\"object\":\"anchor\"", with: "\"object\":\"event\""),
      text.replacing("\"seq\":1", with: "\"seq\":-1"),
      text.replacing("\"seq\":1", with: "\"seq\":\"1\""),
      text.replacing("\"seq\":1", with: "\"seq\":1.0"),
      text.replacing("\"seq\":1", with: "\"seq\":1,\"seq\":1"),
      text.replacing("\"seq\":1", with: "\"seq\":1,\"more\":1"),
      text.replacing("\"seq\":1,", with: ""), text.replacing(hash, with: hash.uppercased() + "A"),
      text.replacing(hash, with: hash.dropLast()), text.replacing("=\"", with: "\""),
      text + String(repeating: " ", count: 1024),
    ] { #expect(Anchor(parsing: Array(wrong.utf8)) == nil, "\(wrong)") }
  }

  @Test func `an empty journal has an anchor with seq 0`() throws {
    let installation = try Installation()
    #expect(try installation.run("ingest", "/dev/null").code == 0)
    let anchor = try anchor(installation)
    #expect(anchor.seq == 0 && anchor.hash == [UInt8](repeating: 0, count: 32))
    #expect(anchor.isSigned(by: try key(installation)))
  }

  @Test func `an anchor can be made while the daemon runs`() throws {
    let installation = try filled(2)
    let daemon = try installation.start()
    let body = try installation.sign(Sample.notification(3))
    #expect(daemon.client().post(body)?.status == 200)
    let running = try anchor(installation, "--json")
    #expect(running.seq == 3)
    try daemon.stop()
    #expect(try anchor(installation).hash == running.hash)
  }

  @Test func `a folder without a journal gets no key`() throws {
    let installation = try Installation()
    let finished = try installation.run("anchor")
    #expect(finished.code == 3 && finished.errors.contains("--data"), "\(finished)")
    #expect(!FileManager.default.fileExists(atPath: installation.data.path))
    #expect(try installation.run("anchor", "now").code == 2)
    #expect(try installation.run("anchor", "--public-key", "--append", "x").code == 2)
  }

  // MARK: The file

  @Test func `an anchor is appended as a whole line, also after an incomplete one`() throws {
    let installation = try filled()
    let file = installation.folder.appending(path: "anchors")
    let first = try anchor(installation, "--append", file.path)
    #expect(try mode(file) == 0o600)
    // The second line is incomplete, as after a loss of power.
    let half = String(decoding: first.line, as: UTF8.self).prefix(100)
    try Data((first.line + [0x0A]) + Array(half.utf8)).write(to: file)
    let third = try anchor(installation, "--append", file.path)
    let lines = try Data(contentsOf: file).split(separator: 0x0A, omittingEmptySubsequences: false)
    #expect(lines.count == 4 && lines[3].isEmpty)
    #expect(Array(lines[0]) == first.line && Array(lines[2]) == third.line)
    #expect(lines[1] == Data(half.utf8))
  }

  @Test func `an anchor is appended only to a regular file`() throws {
    let installation = try filled()
    let file = installation.folder.appending(path: "anchors")
    let link = installation.folder.appending(path: "link")
    try Data("unchanged\n".utf8).write(to: file)
    try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
    for path in [link.path, installation.folder.path, "/dev/null", "/nowhere/anchors", "/dev/full"]
    {
      let finished = try installation.run("anchor", "--append", path)
      #expect(finished.code == 3 && finished.output.isEmpty, "\(path): \(finished)")
      #expect(finished.errors.contains("no anchor was written"), "\(path): \(finished)")
    }
    #expect(try Data(contentsOf: file) == Data("unchanged\n".utf8))
  }

  @Test func `eight concurrent appends leave eight lines and one key`() throws {
    let installation = try filled()
    let file = installation.folder.appending(path: "anchors")
    let commands = try (1...8).map { _ in
      try installation.launch(
        ["anchor", "--append", file.path, "--config", installation.config.path])
    }
    for command in commands { #expect(try command.finish().code == 0) }
    let key = try key(installation)
    let lines = try Data(contentsOf: file).split(separator: 0x0A)
    #expect(lines.count == 8)
    // One key was made, and no temporary file of the other commands is left.
    for line in lines { #expect(Anchor(parsing: Array(line))?.isSigned(by: key) == true) }
    let names = try FileManager.default.contentsOfDirectory(atPath: installation.data.path)
    #expect(names.filter { $0.hasPrefix("anchor") } == ["anchor.key"])
  }

  // MARK: The key

  @Test func `the key is made once`() throws {
    let installation = try Installation()
    // Before there is a journal or a data folder.
    let key = try key(installation)
    let bytes = try Data(contentsOf: keyFile(installation))
    #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    #expect(try installation.run("ingest", "/dev/null").code == 0)
    #expect(try anchor(installation).isSigned(by: key))
    #expect(try Data(contentsOf: keyFile(installation)) == bytes)
    try FileManager.default.removeItem(at: keyFile(installation))
    #expect(try self.key(installation) != key)
  }

  @Test func `a private file is never replaced`() throws {
    let installation = try Installation()
    let file = installation.folder.appending(path: "key")
    #expect(try PrivateFile.make([1], at: file.path))
    #expect(try !PrivateFile.make([2], at: file.path))
    #expect(try PrivateFile.read(file.path, limit: 9) == .bytes([1]))
    let names = try FileManager.default.contentsOfDirectory(atPath: installation.folder.path)
    #expect(names.filter { $0.hasPrefix("key") } == ["key"])
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o610])
  func `a key file with access for others is refused`(mode: Int) throws {
    let installation = try filled()
    _ = try key(installation)
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: keyFile(installation).path)
    try expectRefusal(installation, "chmod 600")
  }

  @Test func `a damaged or linked key file is refused`() throws {
    let installation = try filled()
    _ = try key(installation)
    let file = keyFile(installation)
    let whole = try Data(contentsOf: file)
    let other = try Data(SigningKey.generate(.p256).pem())
    for bytes in [Data(), whole.dropLast(30), other, Data("no key\n".utf8)] {
      try bytes.write(to: file)
      try expectRefusal(installation, "is damaged")
      #expect(try Data(wholeOf: file) == bytes)
    }
    let moved = installation.folder.appending(path: "elsewhere")
    try whole.write(to: moved)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: moved.path)
    for target in [moved, installation.folder.appending(path: "nowhere")] {
      try FileManager.default.removeItem(at: file)
      try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target)
      try expectRefusal(installation, "is a link")
    }
  }

  private func expectRefusal(_ installation: Installation, _ message: String) throws {
    for command in [["anchor"], ["anchor", "--public-key"]] {
      let finished = try installation.launch(
        command + ["--config", installation.config.path]
      ).finish()
      #expect(finished.code == 3 && finished.output.isEmpty, "\(finished)")
      #expect(finished.errors.contains(message), "\(finished)")
    }
  }
}
