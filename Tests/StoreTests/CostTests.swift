import Foundation
import Platform
import SignedData
import Store
import Testing

/// Measurements that are printed: `SUBLEDGER_LONG=1 swift test -c release --filter CostTests`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SUBLEDGER_LONG"] != nil))
struct CostTests {
  private func microseconds(_ times: Int, _ step: (Int) throws -> Void) rethrows -> Double {
    let start = Clock.monotonicNanoseconds()
    for time in 0..<times { try step(time) }
    return Double(Clock.monotonicNanoseconds() - start) / 1_000 / Double(times)
  }

  @Test func `prints the cost of append and read and the size of an event`() throws {
    let scratch = try Scratch()
    let opened = try scratch.open()
    let count = 20_000
    let events = (0..<count).map { Submission.event(Sample.event($0)) }
    let cost = try microseconds(count / 100) { batch in
      _ = try opened.journal.append(Array(events[(batch * 100)..<(batch * 100 + 100)]))
      try opened.journal.checkpointIfNeeded()
    }
    print("append, batches of 100: \(cost / 100) us an event")
    try opened.journal.close()
    let size = try FileManager.default.attributesOfItem(atPath: scratch.folder.journal)[.size]
    print("bytes an event: \((size as? Int ?? 0) / count) for \(Sample.body(1).count) on the wire")
    let reader = try JournalReader.open(scratch.folder)
    var bytes = 0
    let reading = try microseconds(1) { _ in
      try reader.forEach(from: 1, through: Int64(count)) { event in
        bytes += event.body.count
        return true
      }
    }
    print("read: \(reading / Double(count)) us an event, \(bytes) bytes")
  }

  @Test func `prints the cost of encoding, decoding and hashing a body`() throws {
    let scratch = try Scratch()
    try scratch.open().journal.close()
    let connection = try SQLiteConnection.open(scratch.folder.journal, .write)
    let codec = BodyCodec(dictionaries: DictionaryStore(connection))
    let bodies = (0..<500).map { Sample.body($0) }
    var stored = [try codec.encode(bodies[0], trainsDictionary: true)]
    let encode = try microseconds(499) {
      stored.append(try codec.encode(bodies[$0 + 1], trainsDictionary: true))
    }
    let decode = try microseconds(500) {
      _ = try codec.decode(stored[$0].bytes, dictionary: stored[$0].dictionary)
    }
    print("encode: \(encode) us, decode: \(decode) us")
    print("stored: \(stored.map { $0.bytes.count }.reduce(0, +) / 500) bytes")
    let text = Base64URL.encode(Array(bodies[0].prefix(7_680)))
    let base64 = microseconds(2_000) { _ in _ = Base64URL.decode(text) }
    print("base64url, decode \(text.count): \(base64) us")
    print("sha256: \(microseconds(2_000) { _ in _ = SHA256.hash(bodies[0]) }) us")
    connection.close()
  }
}
