import Foundation
import Platform
import Support
import Testing

/// A file that grows by whole lines, and a file that is read in chunks.
@Suite struct AppendedFileTests {
  private func append(_ line: String, to path: String) throws {
    try AppendedFile.append(line: Array(line.utf8), to: path)
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try DurableFile.read(path, limit: 1000), as: UTF8.self)
  }

  @Test func `each line is appended with a line feed`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/file"
    try append("one", to: path)
    try append("", to: path)
    try append("two", to: path)
    #expect(try text(path) == "one\n\ntwo\n" && FileMode.of(path)?.text == "0600")
  }

  @Test func `a line that was cut short is ended first`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("one\ntw", to: "file")
    try append("three", to: path)
    #expect(try text(path) == "one\ntw\nthree\n")
  }

  @Test func `links and pipes are refused`() throws {
    let scratch = try Scratch()
    let (link, pipe) = (scratch.path + "/link", scratch.path + "/pipe")
    #expect(symlink(scratch.path + "/none", link) == 0 && mkfifo(pipe, 0o600) == 0)
    for (path, expected) in [(link, ELOOP), (pipe, EINVAL)] {
      let code = errorCode { () throws(LedgerError) in
        try AppendedFile.append(line: [1], to: path)
      }
      #expect(code == expected)
    }
    #expect(try FileKind.of(scratch.path + "/none") == nil)
  }

  @Test func `lines of several threads do not mix`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/file"
    let failures = BoundedQueue<Int>(capacity: 100)
    let threads = try (0..<4).map { number in
      try Platform.Thread.start("appends") {
        for _ in 0..<5 {
          let line = [UInt8](repeating: UInt8(ascii: "a") + UInt8(number), count: 500)
          if (try? AppendedFile.append(line: line, to: path)) == nil {
            _ = failures.enqueue(number)
          }
        }
      }
    }
    threads.forEach { $0.join() }
    let lines = try DurableFile.read(path, limit: 20_000).split(separator: 0x0A)
    #expect(failures.count == 0 && lines.count == 20)
    #expect(lines.allSatisfy { $0.count == 500 && Set($0).count == 1 })
  }

  @Test func `tail returns the last bytes`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("abcdef", to: "file")
    #expect(try AppendedFile.tail(path, bytes: 2) == Array("ef".utf8))
    #expect(try AppendedFile.tail(path, bytes: 100) == Array("abcdef".utf8))
    #expect(try AppendedFile.tail(scratch.path + "/none", bytes: 2).isEmpty)
  }

  @Test func `a file is read in chunks until the closure returns false`() throws {
    let scratch = try Scratch()
    var bytes = [UInt8](repeating: 1, count: 2_500_000)
    for index in stride(from: 0, to: bytes.count, by: 65_521) { bytes[index] = UInt8(index & 127) }
    let path = try scratch.write(bytes, to: "file")
    var (found, sizes): ([UInt8], [Int]) = ([], [])
    let isWhole = try FileReading.forEachChunk(path) { chunk in
      found += chunk
      sizes.append(chunk.count)
      return true
    }
    #expect(isWhole && found == bytes && sizes == [1 << 20, 1 << 20, 2_500_000 - 2 << 20])
    var calls = 0
    let isCut = try !FileReading.forEachChunk(path) { _ in
      calls += 1
      return false
    }
    #expect(isCut && calls == 1)
  }
}
