import Foundation
import JournalStore
import Simulator
import Support
import Testing

/// Single bits of the journal's file, turned as a bad disk or a careful hand turns them: whatever
/// changes what the file says, `verify` finds (promise 5).
@Suite struct FlippedBitTests {
  private static func number(_ name: String, or usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
  }

  /// SUBLEDGER_FLIPS and SUBLEDGER_FLIP_EVENTS ask for more, SUBLEDGER_SEED for others.
  private static let flips = number("SUBLEDGER_FLIPS", or: 40)
  private static let events = number("SUBLEDGER_FLIP_EVENTS", or: 12)
  private static let seed = UInt64(number("SUBLEDGER_SEED", or: 20_260_101))

  /// All that the tables say, read row by row and not through an index. Left out is what follows
  /// from nothing else: counters, and the names and times of migrations.
  private static let content = [
    ("sqlite_schema", ["type", "name", "tbl_name", "sql"]), ("migration", ["number", "sha256"]),
    ("app", ["id", "environment", "bundle_id"]),
    ("stream", ["id", "app_id", "original_transaction_id"]),
    ("kind", ["id", "notification_type", "subtype"]),
    ("dictionary", ["id", "header_sha256", "bytes", "sha256"]),
    (
      "event",
      [
        "seq", "notification_uuid", "source", "stream_id", "kind_id", "dictionary_id",
        "signed_date_ms", "received_at_ms", "body_sha256", "hash", "body",
      ]
    ),
  ]

  /// Where the file says the number of its schema: another one looks like a newer program's.
  private static let version = 60..<64

  /// Nil where it cannot be read.
  private static func contents(of path: String) -> [String]? {
    try? content.flatMap { table, columns in
      let connection = try SQLiteConnection.open(path, .immutable)
      defer { connection.close() }
      let row = columns.map { "quote(\($0))" }.joined(separator: " || ',' || ")
      return try connection.statement("SELECT \(row) FROM \(table) NOT INDEXED").all { $0.text(0) }
    }
  }

  private func filled() throws -> Installation {
    let installation = try Installation()
    let lines = try (1...Self.events).map {
      try installation.sign(Sample.notification($0, otid: "\(7000 + $0 % 97)"))
    }
    let ingested = try installation.run("ingest", try installation.file("all", lines))
    guard ingested.code == 0 else { throw Trouble("\(ingested)") }
    return installation
  }

  @Test func whatChangesContentIsFound() throws {
    let installation = try filled()
    let path = installation.journal.path
    let whole = try Data(contentsOf: installation.journal)
    let content = try #require(Self.contents(of: path))
    #expect(try installation.run("verify").code == 0)
    let exported = try installation.run("export").output
    print("seed \(Self.seed): SUBLEDGER_SEED repeats it")
    var dice = SeededGenerator(seed: Self.seed)
    var found = 0
    for number in 0..<Self.flips {
      let place = Int.random(in: 0..<whole.count, using: &dice)
      var bytes = whole
      bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &dice)
      try bytes.write(to: installation.journal)
      let verified = try verify(installation, wholly: number % 10 == 0)
      found += verified.code == 1 ? 1 : 0
      var expected: [Int32] = Self.version.contains(place) ? [4] : [0, 1]
      // Some bits of a zstd frame say the same in another way: the body is what it was.
      if verified.code == 0, Self.contents(of: path) != content,
        try installation.run("export").output != exported
      {
        expected = [1]
      }
      #expect(expected.contains(verified.code), "byte \(place): \(verified)")
      if verified.code == 1 {
        #expect(verified.firstLine.hasPrefix("promise "), "byte \(place): \(verified)")
      }
      #expect(try Data(contentsOf: installation.journal) == bytes, "verify changes nothing")
    }
    print("\(Self.flips) bits of \(whole.count) bytes: \(found) found, no other changed content")
  }

  /// What the chain alone finds, the whole finds too, in ten times the time: every tenth bit holds
  /// it to that.
  private func verify(
    _ installation: Installation, wholly: Bool
  ) throws -> Finished {
    let chain = try installation.run("verify", "--chain")
    guard wholly || chain.code != 1 else { return chain }
    let whole = try installation.run("verify")
    #expect(chain.code != 1 || whole.code == 1, "\(chain), \(whole)")
    return whole
  }
}
