import Foundation
import Platform
import Support
import Testing

/// Small files that are complete or not there.
@Suite struct DurableFileTests {
  private func text(_ path: String) throws -> String {
    String(decoding: try DurableFile.read(path, limit: 1 << 20), as: UTF8.self)
  }

  @Test func `write replaces a file and leaves no other`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/file"
    try DurableFile.write(Array("one".utf8), to: path)
    #expect(try text(path) == "one" && FileMode.of(path)?.text == "0600")
    try DurableFile.write([], to: path)
    #expect(try text(path) == "" && DurableFile.size(path) == 0)
    #expect(try FolderListing.names(scratch.path) == ["file"])
  }

  /// A folder in place of the temporary file.
  @Test func `a write that fails leaves the file as it was`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("old", to: "file")
    #expect(mkdir(path + ".fresh", 0o700) == 0)
    let code = errorCode { () throws(LedgerError) in try DurableFile.write([1], to: path) }
    #expect(code == EISDIR)
    #expect(try text(path) == "old")
  }

  @Test func `create refuses an existing name`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/file"
    try DurableFile.create(path)
    #expect(try FileMode.of(path)?.text == "0600" && DurableFile.size(path) == 0)
    #expect(errorCode { () throws(LedgerError) in try DurableFile.create(path) } == EEXIST)
    let link = scratch.path + "/link"
    #expect(symlink(scratch.path + "/none", link) == 0)
    #expect(errorCode { () throws(LedgerError) in try DurableFile.create(link) } == EEXIST)
    #expect(try FileKind.of(scratch.path + "/none") == nil)
  }

  @Test func `a missing file has no size and may be removed`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/file"
    #expect(try DurableFile.size(path) == nil && DurableFile.isPlain(path) == nil)
    try DurableFile.remove(path)
    try scratch.write("x", to: "file")
    #expect(try DurableFile.size(path) == 1 && DurableFile.isPlain(path) == true)
    #expect(try DurableFile.isPlain(scratch.path) == false)
    try DurableFile.remove(path)
    #expect(try DurableFile.size(path) == nil)
  }

  @Test func `read returns at most its limit`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("abcdef", to: "file")
    #expect(try DurableFile.read(path, limit: 3) == Array("abc".utf8))
    #expect(try DurableFile.read(path, limit: 0) == [])
    #expect(try DurableFile.read(path, limit: 7) == Array("abcdef".utf8))
    // More than there is memory.
    #expect(try DurableFile.read(path, limit: .max) == Array("abcdef".utf8))
  }

  @Test func `read refuses a folder and does not wait for a pipe`() throws {
    let scratch = try Scratch()
    let pipe = scratch.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    for path in [pipe, scratch.path] {
      let code = errorCode { () throws(LedgerError) in _ = try DurableFile.read(path, limit: 9) }
      #expect(code == EINVAL)
    }
  }

  @Test func `rename replaces a file`() throws {
    let scratch = try Scratch()
    let (from, to) = (try scratch.write("new", to: "a"), try scratch.write("old", to: "b"))
    try DurableFile.rename(from, to: to)
    #expect(try text(to) == "new" && FolderListing.names(scratch.path) == ["b"])
  }

  @Test func `a copy to a fresh inode has the same content`() throws {
    let scratch = try Scratch()
    var bytes = [UInt8](repeating: 1, count: 3_000_000)
    for index in stride(from: 0, to: bytes.count, by: 65_521) { bytes[index] = UInt8(index & 127) }
    let path = try scratch.write(bytes, to: "file")
    let inode = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    try DurableFile.copyToFreshInode(path)
    let fresh = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    #expect(inode != nil && fresh != nil && inode != fresh)
    #expect(try DurableFile.read(path, limit: bytes.count + 1) == bytes)
    #expect(try FolderListing.names(scratch.path) == ["file"])
  }
}
