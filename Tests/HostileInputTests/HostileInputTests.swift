import Foundation
import Support
import Testing

/// Every row of the table of hostile inputs, with its variants, against the built program through a
/// real socket: status, connection, tables, head, echo, counters and log.
@Suite struct HostileInputTests {
  private func run(_ rows: [HostileRow], takesV1: Bool = false) throws {
    let foe = try HostileClient(takesV1: takesV1)
    for row in rows { try foe.run(row) }
    print("hostile inputs: \(Set(rows.map(\.id)).count) rows, \(foe.variants) variants")
    try foe.finish()
  }

  @Test func http() throws { try run(HostileTable.http) }
  @Test func json() throws { try run(HostileTable.json) }
  @Test func jws() throws { try run(HostileTable.jws) }
  @Test func chains() throws { try run(HostileTable.chains) }
  @Test func semantics() throws { try run(HostileTable.semantics) }
  @Test func v1() throws { try run(HostileTable.v1, takesV1: true) }
  @Test func access() throws { try run(HostileTable.access) }
  @Test func data() throws { try run(HostileTable.data) }

  /// With V1 the limit is 4 MiB.
  @Test func largeBodiesOfV1() throws {
    let foe = try HostileClient(takesV1: true)
    try foe.refuses("H8", .fields("Content-Length: 4194305\r\n"), [413], closes: true)
    try foe.refuses("H8", .post("spaces", [UInt8](repeating: 0x20, count: 300_000)), [400])
    try foe.finish()
  }

  // MARK: The table is whole

  private static let ids: [String] = {
    let runs = [("H", 35), ("N", 13), ("J", 28), ("X", 23), ("S", 15), ("A", 5), ("D", 8)]
    let dense = runs.flatMap { (letter, count) in (1...count).map { "\(letter)\($0)" } }
    return dense + ["X25", "S12a", "S12b", "V1", "V2", "V3", "V4", "V5", "V6", "V8"]
  }()

  @Test func everyRowIsThere() {
    #expect(Set(HostileTable.all.map(\.id)) == Set(Self.ids))
    #expect(Self.ids.count == 137)
  }

  /// What is tried elsewhere is.
  @Test func otherSuitesAreThere() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let files = Set(
      try FileManager.default.subpathsOfDirectory(atPath: tests.path)
        .map { URL(filePath: $0).lastPathComponent })
    for case .elsewhere(let suite) in HostileTable.all.map(\.due) {
      #expect(files.contains("\(suite).swift"), "\(suite)")
    }
  }
}
