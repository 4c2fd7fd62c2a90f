import Foundation
import Platform
import Support
import Testing

/// Lines of any length, with and without a line feed at the end of the file.
@Suite struct LineReaderTests {
  private func lines(_ reader: LineReader) throws -> [(text: String, isEnded: Bool)] {
    var lines: [(text: String, isEnded: Bool)] = []
    while let line = try reader.next() {
      lines.append((String(decoding: line, as: UTF8.self), reader.isLineEnded))
    }
    return lines
  }

  @Test(
    arguments: [
      ("", []), ("\n", ["\n"]), ("a", ["a"]), ("a\n", ["a\n"]), ("a\nb", ["a\n", "b"]),
      ("a\n\nb\n", ["a\n", "\n", "b\n"]), ("\n\n", ["\n", "\n"]), ("a\r\n", ["a\r\n"]),
    ] as [(String, [String])])
  func `a line ends with a line feed or with the file`(
    _ content: String, _ expected: [String]
  ) throws {
    let scratch = try Scratch()
    let path = try scratch.write(content, to: "file")
    let found = try lines(try LineReader(path: path, maximum: 100))
    #expect(found.map { $0.text + ($0.isEnded ? "\n" : "") } == expected)
  }

  /// Longer than the 256 KiB that are read at once.
  @Test func `a line may be longer than a chunk`() throws {
    let scratch = try Scratch()
    let long = String(repeating: "x", count: 600_000)
    let path = try scratch.write("a\n\(long)\nb\n\(long)", to: "file")
    let found = try lines(try LineReader(path: path, maximum: 600_000))
    #expect(found.map(\.text.utf8.count) == [1, 600_000, 1, 600_000])
    #expect(found.map(\.isEnded) == [true, true, true, false])
  }

  @Test(arguments: [11, 1000, 600_000])
  func `a line over the maximum is cut one byte after it`(_ count: Int) throws {
    let scratch = try Scratch()
    let long = String(repeating: "x", count: count)
    let path = try scratch.write("\(long)\n\(long.prefix(10))\n\(long)", to: "file")
    let found = try lines(try LineReader(path: path, maximum: 10))
    #expect(found.map(\.text.utf8.count) == [11, 10, 11])
  }

  @Test func `every chunk is unpacked by the function chosen for the first`() throws {
    let scratch = try Scratch()
    let long = String(repeating: "x", count: 300_000)
    let path = try scratch.write("#\(long)\nb\n", to: "file")
    let reader = try LineReader(path: path, maximum: 1 << 20) { first in
      first.first == UInt8(ascii: "#") ? { chunk in chunk.map { $0 == 0x78 ? 0x79 : $0 } } : nil
    }
    let found = try lines(reader).map(\.text)
    #expect(found == ["#" + String(repeating: "y", count: 300_000), "b"])
  }

  @Test func `damage that the unpacking function finds is an error`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("a\nb\n", to: "file")
    let reader = try LineReader(path: path, maximum: 10) { _ in { _ in nil } }
    #expect(errorCode { () throws(LedgerError) in _ = try reader.next() } == EIO)
  }

  @Test func `isPlain refuses a pipe without waiting for a writer`() throws {
    let scratch = try Scratch()
    let pipe = scratch.path + "/pipe"
    #expect(mkfifo(pipe, 0o600) == 0)
    let code = errorCode { () throws(LedgerError) in
      _ = try LineReader(path: pipe, maximum: 10, isPlain: true)
    }
    #expect(code == EINVAL)
    let missing = errorCode { () throws(LedgerError) in
      _ = try LineReader(path: scratch.path + "/none", maximum: 10)
    }
    #expect(missing == ENOENT)
  }
}
