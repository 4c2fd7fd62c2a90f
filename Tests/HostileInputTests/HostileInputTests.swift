import Foundation
import Support
import Testing

/// Every row of the table of hostile inputs, with its variants, against the built program over a
/// real socket: status, connection, tables, head of the journal, echo, counters and log are
/// checked.
@Suite struct HostileInputTests {
  private func run(_ rows: [HostileRow], takesV1: Bool = false) throws {
    let hostile = try HostileClient(takesV1: takesV1)
    for row in rows { try hostile.run(row) }
    print("hostile inputs: \(Set(rows.map(\.id)).count) rows, \(hostile.variants) variants")
    try hostile.finish()
  }

  @Test func `HTTP rows H have the expected result`() throws { try run(HostileTable.http) }
  @Test func `JSON rows N have the expected result`() throws { try run(HostileTable.json) }
  @Test func `JWS rows J have the expected result`() throws { try run(HostileTable.jws) }
  @Test func `certificate rows X have the expected result`() throws { try run(HostileTable.chains) }
  @Test func `semantic rows S have the expected result`() throws { try run(HostileTable.semantics) }
  @Test func `version 1 rows V have the expected result`() throws {
    try run(HostileTable.v1, takesV1: true)
  }
  @Test func `access rows A have the expected result`() throws { try run(HostileTable.access) }
  @Test func `data rows D have the expected result`() throws { try run(HostileTable.data) }

  @Test func `with V1 configured the body limit is 4 MiB`() throws {
    let hostile = try HostileClient(takesV1: true)
    try hostile.refuses("H8", .fields("Content-Length: 4194305\r\n"), [413], closes: true)
    try hostile.refuses("H8", .post("spaces", [UInt8](repeating: 0x20, count: 300_000)), [400])
    try hostile.finish()
  }

  // MARK: Completeness of the table

  private static let ids: [String] = {
    let runs = [("H", 35), ("N", 13), ("J", 32), ("X", 23), ("S", 15), ("A", 5), ("D", 8)]
    let dense = runs.flatMap { (letter, count) in (1...count).map { "\(letter)\($0)" } }
    return dense + [
      "N10b", "J17b", "J17c", "X25", "S2b", "S12a", "S12b", "V1", "V2", "V3", "V4", "V5", "V6",
      "V8",
    ]
  }()

  @Test func `the table has all 145 rows`() {
    #expect(Set(HostileTable.all.map(\.id)) == Set(Self.ids))
    #expect(Self.ids.count == 145)
  }

  @Test func `suites that cover a row instead of the table exist`() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let files = Set(
      try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        .map { URL(filePath: $0).lastPathComponent })
    for case .coveredBy(let suite) in HostileTable.all.map(\.expected) {
      #expect(files.contains("\(suite).swift"), "\(suite)")
    }
  }
}
