import Foundation
import Platform
import Support
import Testing

/// Permissions, kinds and identities of files.
@Suite struct FileModeTests {
  @Test(
    arguments: [
      (0o600, "0600", false, false), (0o400, "0400", false, false), (0o640, "0640", true, false),
      (0o604, "0604", true, false), (0o620, "0620", true, true), (0o602, "0602", true, true),
      (0o610, "0610", true, false), (0o777, "0777", true, true), (0o000, "0000", false, false),
    ] as [(Int, String, Bool, Bool)])
  func `a mode says who else may read and write`(
    _ bits: Int, _ text: String, _ isOpen: Bool, _ isWritable: Bool
  ) throws {
    let scratch = try Scratch()
    let path = try scratch.write("x", to: "file")
    try FileManager.default.setAttributes([.posixPermissions: bits], ofItemAtPath: path)
    let mode = try #require(try FileMode.of(path))
    #expect(mode.bits == UInt32(bits) && mode.text == text && mode.owner == getuid())
    #expect(mode.isOpenToOthers == isOpen && mode.isWritableByOthers == isWritable)
    #expect(try DurableFile.isPrivate(path) == !isOpen)
  }

  /// As Kubernetes gives secrets: root's, readable by the group of the pod.
  @Test func `a secret of root may be read by its group, one of anybody else may not`() {
    func isPrivate(_ bits: UInt32, _ owner: UInt32, _ user: UInt32) -> Bool {
      FileMode.isPrivate(bits: bits, owner: owner, readBy: user)
    }
    #expect(isPrivate(0o440, 0, 10_001) && isPrivate(0o640, 0, 10_001))
    for bits: UInt32 in [0o444, 0o604, 0o660, 0o650] { #expect(!isPrivate(bits, 0, 10_001)) }
    #expect(!isPrivate(0o440, 10_001, 10_001) && !isPrivate(0o440, 10_002, 10_001))
    #expect(!isPrivate(0o440, 0, 0) && isPrivate(0o400, 0, 0) && isPrivate(0o600, 7, 7))
  }

  @Test func `a missing file has no mode and no kind`() throws {
    let scratch = try Scratch()
    #expect(try FileMode.of(scratch.path + "/none") == nil)
    #expect(try FileKind.of(scratch.path + "/none") == nil)
    #expect(errorCode { () throws(LedgerError) in _ = try FileIdentity.of("/none") } == ENOENT)
  }

  @Test func `a link is a link, whatever it leads to`() throws {
    let scratch = try Scratch()
    let (file, link) = (try scratch.write("x", to: "file"), scratch.path + "/link")
    #expect(symlink(file, link) == 0 && mkfifo(scratch.path + "/pipe", 0o600) == 0)
    #expect(try FileKind.of(file) == .file && FileKind.of(scratch.path) == .folder)
    #expect(try FileKind.of(link) == .link && FileKind.of(scratch.path + "/pipe") == .other)
    try DurableFile.remove(file)
    #expect(try FileKind.of(link) == .link)
  }

  @Test func `an identity changes with the content and with the inode`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("one", to: "file")
    let first = try FileIdentity.of(path)
    #expect(try FileIdentity.of(path) == first)
    try AppendedFile.append(line: Array("two".utf8), to: path)
    let second = try FileIdentity.of(path)
    #expect(second != first)
    try DurableFile.copyToFreshInode(path)
    #expect(try FileIdentity.of(path) != second)
  }
}
