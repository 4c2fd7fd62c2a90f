import Foundation
import Platform
import Support
import Testing

/// A file that gets its name only when it is complete.
@Suite struct AtomicFileWriterTests {
  /// Longer than the writer's buffer, so that part of it is on the disk before the end.
  private static let long = [UInt8](repeating: 7, count: 200_000)

  @Test func `the file has its name only after finish`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/file"
    let writer = try AtomicFileWriter(path)
    try writer.write("one ")
    try writer.write(Self.long)
    #expect(try FolderListing.names(scratch.path) == ["file.partial"])
    try writer.write("two")
    try writer.finish()
    #expect(try FolderListing.names(scratch.path) == ["file"])
    #expect(try FileMode.of(path)?.text == "0600")
    let content = try DurableFile.read(path, limit: 1 << 20)
    #expect(content == Array("one ".utf8) + Self.long + Array("two".utf8))
  }

  @Test func `an unfinished write leaves the old file and no other`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("old", to: "file")
    do {
      let writer = try AtomicFileWriter(path)
      try writer.write(Self.long)
    }
    #expect(try FolderListing.names(scratch.path) == ["file"])
    #expect(try DurableFile.read(path, limit: 9) == Array("old".utf8))
  }

  @Test func `finish replaces the old file`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("old", to: "file")
    let writer = try AtomicFileWriter(path)
    try writer.finish()
    #expect(try DurableFile.size(path) == 0)
    #expect(try FolderListing.names(scratch.path) == ["file"])
  }

  @Test func `a missing folder is an error`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/none/file"
    #expect(errorCode { () throws(LedgerError) in _ = try AtomicFileWriter(path) } == ENOENT)
  }
}
