import Foundation
import Platform
import Support
import Testing

/// Files of keys, which are created once and readable by their owner alone.
@Suite struct PrivateFileTests {
  @Test func `make creates a file of mode 0600 and replaces nothing`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/key"
    #expect(try PrivateFile.make([1, 2], at: path))
    #expect(try !PrivateFile.make([3], at: path))
    #expect(try PrivateFile.read(path, limit: 10) == .bytes([1, 2]))
    #expect(try FileMode.of(path)?.text == "0600")
    #expect(try FolderListing.names(scratch.path) == ["key"])
  }

  @Test func `make leaves a dangling link as it is`() throws {
    let scratch = try Scratch()
    let (link, target) = (scratch.path + "/key", scratch.path + "/target")
    #expect(symlink(target, link) == 0)
    #expect(try !PrivateFile.make([1], at: link))
    #expect(try FileKind.of(target) == nil && FileKind.of(link) == .link)
  }

  @Test func `read returns the content only of a private plain file`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("secret", to: "key")
    #expect(try PrivateFile.read(path, limit: 3) == .bytes(Array("sec".utf8)))
    for mode in [0o640, 0o604, 0o620, 0o601] {
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
      #expect(try PrivateFile.read(path, limit: 10) == .open)
    }
    #expect(symlink(path, scratch.path + "/link") == 0)
    #expect(mkfifo(scratch.path + "/pipe", 0o600) == 0)
    for name in ["link", "pipe", "."] {
      #expect(try PrivateFile.read(scratch.path + "/" + name, limit: 10) == .noFile)
    }
    #expect(try PrivateFile.read(scratch.path + "/none", limit: 10) == .absent)
  }
}
