import AppStoreSimulator
import Foundation
import Platform
import Store
import StrictJSON
import Support
import Testing

/// `POST /v1/receipts`: what an app hands over through its backend.
@Suite struct ReceiptTests {
  private static func content(
    _ records: [ReceiptContent.Record], on day: Int64 = 3, type: String = "Production",
    bundleId: String = "com.example.app"
  ) -> ReceiptContent {
    ReceiptContent(
      receiptType: type, bundleId: bundleId, creationDate: Sample.start + day * Sample.day,
      records: records)
  }

  private static let two = [Sample.record(1), Sample.record(2, of: "7001")]

  @Test func `a receipt is journaled once and answered with its customers' rows`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let body = try served.body(Self.content(Self.two))
    let first = try served.submit(body)
    #expect(first.status == 200 && first.json?["outcome"]?.string == "accepted", "\(first.text)")
    let rows = first.json?["entitlements"]?.elements ?? []
    // Who bought last comes first.
    #expect(rows.map { $0["original_transaction_id"]?.string } == ["7001", "7000"])
    #expect(rows.allSatisfy { $0["product_id"]?.string == "pro.monthly" })
    #expect(rows.map { $0["expires_at"]?.integer }.first == Sample.start + 32 * Sample.day)
    #expect(first.json?["more"]?.boolean == false)
    #expect(try served.submit(body).json?["outcome"]?.string == "duplicate")
    // The app hands over a new receipt of the same purchases: the journal does not grow.
    for day: Int64 in 4...9 {
      let again = try served.submit(try served.body(Self.content(Self.two, on: day)))
      #expect(again.json?["outcome"]?.string == "confirmed", "\(again.text)")
      #expect(
        again.json?["entitlements"]?.elements.first?["confirmed_at"]?.integer
          == Sample.start + day * Sample.day)
    }
    #expect(try served.installation.events().count == 2)
    // Each is stored once, whatever it is about. Of these old ones the newest of each week is held.
    #expect(try served.rowsOfTable("receipt") == 3)
    #expect(try served.rowsOfTable("held_evidence") == 4)
    let history = try #require(
      served.daemon.client().get("/v1/entitlements/7000/history")?.json)
    let events = history.events
    #expect(events.map { $0["source"]?.string } == ["receipt"])
    #expect(events.map { $0["notification_type"]?.string } == ["RECEIPT"])
    #expect(events.map { $0["arrival"]?.string } == ["submitted"])
    #expect(events.map { $0["signed_date"]?.integer } == [Sample.start + 3 * Sample.day])
    #expect(try served.daemon.stop().code == 0)
    #expect(try served.installation.verify().code == 0)
    let raw = try served.installation.run("history", "7000", "--raw", "--json")
    #expect(raw.code == 0 && raw.output.contains("in_app"), "\(raw)")
    #expect(!raw.output.contains("70012"), "the records of others are not shown: \(raw)")
  }

  @Test func `a receipt with a renewal that no notification told is news for its customer alone`()
    throws
  {
    let served = try SubmittingDaemon("/v1/receipts")
    #expect(try served.submit(try served.body(Self.content(Self.two))).status == 200)
    let renewed = Self.two + [Sample.record(31)]
    let answer = try served.submit(try served.body(Self.content(renewed, on: 32)))
    #expect(answer.json?["outcome"]?.string == "accepted", "\(answer.text)")
    #expect(
      answer.json?["entitlements"]?.elements.map { $0["expires_at"]?.integer }
        == [Sample.start + 61 * Sample.day, Sample.start + 32 * Sample.day])
    #expect(try served.installation.events().count == 3)
  }

  @Test func `what is refused is not journaled`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let good = try served.body(Self.content(Self.two))
    try served.refusesAccess(to: good)
    try served.refuses(Array(#"{"receipt":7}"#.utf8), 400, "envelope")
    try served.refuses(Array(#"{"receipt":"%"}"#.utf8), 400, "receipt_base64")
    try served.refuses(Array(#"{"receipt":"AAAA"}"#.utf8), 400, "receipt_der")
    try served.refuses(try served.body(Self.content([]), [("x", .null)]), 400, "envelope")
    try served.refuses(
      try served.body(Self.content([]), [("environment", .string("Xcode"))]), 400, "environment")
    // Another root, a wrong marker, and a chain that had expired.
    let other = try Installation()
    try served.refuses(
      Sample.receiptBody(try other.receipt(Self.content(Self.two))), 401, "chain_path")
    let early = ReceiptContent(creationDate: 1_000_000_000_000, records: Self.two)
    try served.refuses(try served.body(early), 401, "chain_dates")
    var bomb: [UInt8] = []
    for _ in 0..<50_000 { bomb += [0x30, 0x83, 0x0F, 0xFF, 0xFF] }
    try served.refuses(Sample.receiptBody(bomb), 400, "receipt_der")
    let many = (0..<5_001).map { Sample.record($0) }
    try served.refuses(try served.body(Self.content(many)), 400, "receipt_records")
    try served.refuses(
      Sample.receiptBody([UInt8](repeating: 0x30, count: 2 << 20 | 1)), 400, "receipt_too_long")
    let sandbox = Self.content(Self.two, type: "ProductionSandbox")
    try served.refuses(try served.body(sandbox), 422, "wrong_environment")
    try served.isEmpty()
    // The environment that is expected is taken, and one without purchases says nothing.
    let expected = [("environment", JSONValue.string("Sandbox"))]
    #expect(try served.submit(try served.body(sandbox, expected)).status == 200)
    let empty = try served.submit(try served.body(Self.content([])))
    #expect(empty.status == 200 && empty.json?["outcome"]?.string == "confirmed")
    #expect(empty.json?["entitlements"]?.elements.isEmpty == true)
    #expect(try served.installation.events().count == 2)
  }

  @Test func `a long text is refused at its first bytes unless it begins as a receipt`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let receipt = Base64.encode(try served.installation.receipt(Self.content(Self.two)))
    func body(_ start: [UInt8], _ count: Int, _ end: String) -> [UInt8] {
      let text = start + [UInt8](repeating: UInt8(ascii: "A"), count: count) + Array(end.utf8)
      return Array(#"{"receipt":""#.utf8) + text + Array(#""}"#.utf8)
    }
    let (kilobyte, escaped) = (1 << 10, Array(receipt.prefix(8)) + [0x5C, 0x6E])
    // A short one is looked at as a whole: the percent sign is no base64.
    try served.refuses(body([], 60 * kilobyte, "%"), 400, "receipt_base64")
    try served.refuses(body([], 90 * kilobyte, "%"), 400, "receipt_der")
    try served.refuses(body([0x25], 90 * kilobyte, ""), 400, "receipt_base64")
    try served.refuses(body([], 2_900 * kilobyte, "%"), 400, "receipt_too_long")
    for start in [receipt.prefix(64), escaped + receipt[8..<64], receipt.prefix(64) + [0x20]] {
      try served.refuses(body(Array(start), 90 * kilobyte, "%"), 400, "receipt_base64")
    }
    try served.isEmpty()
  }

  @Test func `a genuine receipt that is not admitted waits in quarantine`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let strange = Self.content(Self.two, type: "ProductionOther")
    let alien = Self.content([Sample.record(1)], bundleId: "com.example.alien")
    for (content, code) in [(strange, "receipt_type"), (alien, "other_app")] {
      let answer = try served.submit(try served.body(content))
      #expect(answer.status == 422 && answer.json?["code"]?.string == code, "\(answer.text)")
    }
    #expect(try served.installation.events().isEmpty)
    #expect(try served.daemon.stop().code == 0)
    let listed = try served.installation.run("quarantine", "list", "--json").lines()
    #expect(listed.compactMap { $0["reason"]?.string } == ["receipt_type", "other_app"])
    #expect(listed.compactMap { $0["notification_type"]?.string } == ["RECEIPT", "RECEIPT"])
    #expect(try served.installation.verify().code == 0)
    // After the configuration was mended, one is admitted.
    try served.installation.configure(apps: [
      Installation.app(), Installation.app("com.example.alien"),
    ])
    let admitted = try served.installation.run("quarantine", "admit", "--reason", "other_app")
    #expect(admitted.code == 0, "\(admitted)")
    #expect(try served.installation.events().count == 1)
    #expect(try served.installation.run("quarantine", "list", "--json").lines().count == 1)
    #expect(try served.installation.verify().code == 0)
  }

  @Test func `a receipt about 2,000 customers is stored once and journaled as a whole`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let records = (0..<2_500).map { Sample.record($0 % 50, of: "\(800_000 + $0)") }
    let body = try served.body(Self.content(records, on: 60))
    let answer = try served.submit(body)
    #expect(answer.json?["outcome"]?.string == "accepted", "\(answer.status)")
    #expect(answer.json?["entitlements"]?.elements.count == 100)
    #expect(answer.json?["more"]?.boolean == true)
    #expect(try served.submit(body).json?["outcome"]?.string == "duplicate")
    #expect(try served.rowsOfTable("receipt") == 1)
    #expect(try served.rowsOfTable("event") == 2_500)
    #expect(try served.daemon.stop().code == 0)
    #expect(try served.installation.verify().code == 0)
    let size =
      try FileManager.default.attributesOfItem(
        atPath: served.installation.journal.path)[.size] as? Int
    #expect(size ?? .max < 2_500 * 400 + body.count, "\(size ?? 0) bytes")
  }

  @Test(arguments: [false, true])
  func `ingest takes the same lines, and those of an export`(besideDaemon: Bool) throws {
    let served = try SubmittingDaemon("/v1/receipts")
    let lines = [
      try served.body(Self.content(Self.two)), try served.body(Self.content(Self.two)),
      try served.body(Self.content(Self.two, on: 5)),
    ]
    let counts = try served.ingest(lines, besideDaemon: besideDaemon)
    #expect(counts["accepted"]?.integer == 1 && counts["duplicates"]?.integer == 2)
    if besideDaemon { #expect(try served.daemon.stop().code == 0) }
    let exported = try served.installation.run("export")
    // The two events share a line; the held ones have lines of their own.
    #expect(try exported.lines().count == 3, "\(exported)")
    let copy = try Installation(authority: served.installation.authority)
    let target = try copy.file("export", [Array(exported.output.utf8.dropLast())])
    let imported = try copy.run("ingest", target, "--keep-chain")
    #expect(imported.code == 0, "\(imported)")
    let again = try copy.run("export")
    #expect(again.output == exported.output)
    #expect(try copy.verify().code == 0)
  }

  @Test(arguments: [false, true])
  func `a file with a receipt is shown and proven offline`(isText: Bool) throws {
    let installation = try Installation()
    let der = try installation.receipt(Self.content(Self.two))
    let text = Base64.encode(der)
    let folded = Array(text.prefix(70)) + [0x0A] + text.dropFirst(70) + [0x0A]
    let file = installation.folder.appending(path: "receipt").path
    try Data(isText ? folded : der).write(to: URL(filePath: file))
    let shown = try installation.run("receipt", file)
    #expect(shown.code == 0 && shown.output.contains("proven offline"), "\(shown)")
    #expect(shown.output.contains("2026-01-04T00:00:00Z"), "\(shown)")
    let json = try #require(try installation.run("receipt", file, "--json").lines().first)
    #expect(json["proven"]?.boolean == true)
    let records = json["receipt"]?["in_app"]?.elements ?? []
    #expect(records.map { $0["original_transaction_id"]?.string } == ["7000", "7001"])
    #expect(records.first?["expires_date_ms"]?.integer == Sample.start + 31 * Sample.day)
    // One of another root is shown too.
    let other = try Installation().receipt(Self.content(Self.two))
    try Data(other).write(to: URL(filePath: file))
    let foreign = try installation.run("receipt", file)
    #expect(foreign.code == 1 && foreign.output.contains("NOT PROVEN: chain_path"), "\(foreign)")
    #expect(foreign.output.contains("pro.monthly"), "\(foreign)")
    try Data([1, 2, 3]).write(to: URL(filePath: file))
    #expect(try installation.run("receipt", file).errors.contains("receipt_der"))
    #expect(try installation.run("receipt", file + "-absent").code == 3)
  }

  @Test func `a bundle proves a customer's receipt without the ledger`() throws {
    let served = try SubmittingDaemon("/v1/receipts")
    #expect(try served.submit(try served.body(Self.content(Self.two))).status == 200)
    #expect(try served.daemon.stop().code == 0)
    let file = served.installation.folder.appending(path: "bundle.ndjson").path
    let made = try served.installation.run("export", "--only", "7000", "--bundle", file)
    #expect(made.code == 0, "\(made)")
    let bundle = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    #expect(bundle.contains(#""source":"receipt""#) && bundle.contains(#""object":"answer""#))
    let key = try served.installation.run("anchor", "--public-key").output
    let path = try served.installation.file("key.pem", [Array(key.utf8)])
    func verify(_ name: String) throws -> CommandResult {
      try served.installation.run("verify", "--bundle", name, "--anchor-key", path)
    }
    #expect(try verify(file).code == 0)
    // Another receipt in its place is noticed.
    let other = try served.installation.receipt(Self.content(Self.two, on: 4))
    let forged = bundle.split(separator: "\n").map { line in
      guard line.contains(#""source":"receipt""#), let start = line.range(of: #""body":""#) else {
        return Array(line.utf8)
      }
      let text = String(decoding: Base64.encode(other), as: UTF8.self)
      return Array((line[..<start.upperBound] + text + "\"}").utf8)
    }
    #expect(try verify(try served.installation.file("forged", forged)).code == 1)
  }
}

extension SubmittingDaemon {
  fileprivate func body(
    _ content: ReceiptContent, _ more: [(String, JSONValue)] = []
  ) throws -> [UInt8] {
    Sample.receiptBody(try installation.receipt(content), more)
  }

  fileprivate func rowsOfTable(_ table: String) throws -> Int64 {
    let connection = try SQLiteConnection.open(installation.journal.path, .read)
    defer { connection.close() }
    return try connection.statement("SELECT count(*) FROM \(table)").first { $0.int(0) } ?? 0
  }
}
