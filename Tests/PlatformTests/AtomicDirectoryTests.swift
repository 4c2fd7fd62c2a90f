import Foundation
import Platform
import Support
import Testing

/// A folder that gets its name only when it is complete, and replaces nothing.
@Suite struct AtomicDirectoryTests {
  @Test func `a folder gets its name only when it is complete`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/new"
    do {
      let folder = try AtomicDirectory(path)
      try DurableFile.create(folder.partial + "/file")
      #expect(throws: LedgerError.self) { try AtomicDirectory(path) }
      #expect(
        try FileKind.of(folder.partial) == .folder, "the folder of the failed attempt was removed")
      #expect(try FileKind.of(path) == nil)
    }
    #expect(try FolderListing.names(scratch.path).isEmpty, "the unfinished folder was not removed")
    let folder = try AtomicDirectory(path)
    try DurableFile.create(folder.partial + "/file")
    try folder.finish()
    #expect(try FolderListing.names(path) == ["file"])
    #expect(throws: LedgerError.self) { try AtomicDirectory(path) }
  }

  @Test(arguments: ["file", "folder", "link"])
  func `replaces nothing that got the name meanwhile`(by kind: String) throws {
    let scratch = try Scratch()
    let path = scratch.path + "/new"
    for isOwn in [true, false] {
      let folder = try AtomicDirectory(path)
      switch kind {
      case "file": try DurableFile.create(path)
      case "folder":
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: false)
      default:
        try FileManager.default.createSymbolicLink(
          atPath: path, withDestinationPath: scratch.path)
      }
      #expect(throws: LedgerError.self) {
        if isOwn {
          try AtomicDirectory.renameOntoOwn(folder.partial, to: path)
        } else {
          try folder.finish()
        }
      }
      try FileManager.default.removeItem(atPath: path)
    }
    // The fallback for file systems without RENAME_NOREPLACE.
    let folder = try AtomicDirectory(path)
    try DurableFile.create(folder.partial + "/file")
    try AtomicDirectory.renameOntoOwn(folder.partial, to: path)
    #expect(try FolderListing.names(path) == ["file"])
  }
}
