import AppStoreSimulator
import Foundation
import Store
import Support
import Testing

/// Single bits of the journal's file are flipped. `verify` finds every flip that changes the
/// content of the file (promise 5).
@Suite struct FlippedBitTests {
  private static let flips = TestCount.flips.number
  private static let events = TestCount.flippedEvents.number
  private static let seed = TestSeed.number(usual: 20_260_101)

  /// The content of the tables, read without an index. Left out is what cannot be checked against
  /// anything else: counters, and the names and times of migrations.
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

  /// The offsets of the schema's version. Another version looks like a newer program's file.
  private static let version = 60..<64

  /// Nil if the file cannot be read.
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
    guard ingested.code == 0 else { throw TestFailure("\(ingested)") }
    return installation
  }

  @Test func `every flipped bit that changes content is found`() throws {
    let installation = try filled()
    let path = installation.journal.path
    let whole = try Data(contentsOf: installation.journal)
    let content = try #require(Self.contents(of: path))
    #expect(try installation.run("verify").code == 0)
    let exported = try installation.run("export").output
    print("seed \(Self.seed), set by SUBLEDGER_SEED")
    var generator = SeededGenerator(seed: Self.seed)
    var found = 0
    for number in 0..<Self.flips {
      let offset = Int.random(in: 0..<whole.count, using: &generator)
      var bytes = whole
      bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      try bytes.write(to: installation.journal)
      let verified = try verify(installation, wholly: number % 10 == 0)
      found += verified.code == 1 ? 1 : 0
      var expected: [Int32] = Self.version.contains(offset) ? [4] : [0, 1]
      // Some bits of a zstd frame can change without a change of the body.
      if verified.code == 0, Self.contents(of: path) != content,
        try installation.run("export").output != exported
      {
        expected = [1]
      }
      #expect(expected.contains(verified.code), "byte \(offset): \(verified)")
      if verified.code == 1 {
        #expect(verified.firstLine.hasPrefix("promise "), "byte \(offset): \(verified)")
      }
      #expect(try Data(contentsOf: installation.journal) == bytes, "verify changes nothing")
    }
    print("\(Self.flips) bits of \(whole.count) bytes: \(found) found, no other changed content")
  }

  /// Runs `verify --chain`, which takes a tenth of the time, and the whole verification for every
  /// tenth bit. The whole one must find what the chain finds.
  private func verify(
    _ installation: Installation, wholly: Bool
  ) throws -> CommandResult {
    let chain = try installation.run("verify", "--chain")
    guard wholly || chain.code != 1 else { return chain }
    let whole = try installation.run("verify")
    #expect(chain.code != 1 || whole.code == 1, "\(chain), \(whole)")
    return whole
  }
}
