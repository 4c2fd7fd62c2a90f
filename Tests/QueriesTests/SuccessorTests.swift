import AppStore
import Entitlements
import Queries
import Store
import StrictJSON
import Support
import Testing

/// Streams that name each other as predecessor: a standalone subscription, a bundle, and back.
@Suite struct SuccessorTests {
  /// A transaction of a stream, bought on a day of 2025-01, that names another stream.
  private struct Naming {
    let stream: String
    let day: Int
    let id: String
    var predecessor: String?
  }

  private static func previous(_ id: String?) -> [String: JSONValue] {
    id.map { ["previousOriginalTransactionId": .string($0)] } ?? [:]
  }

  private static func date(_ day: Int) -> String { "25-01-\(day < 10 ? "0" : "")\(day)" }

  private func ledger(_ namings: [Naming]) throws -> CustomerLedger {
    var ledger = try CustomerLedger(["pro": ["*"]])
    for naming in namings {
      try ledger.send(
        "MIGRATION", Self.date(naming.day),
        "\(naming.id) p \(Self.date(naming.day))→25-12-01 bought of \(naming.stream)",
        received: "25-03-01", more: Self.previous(naming.predecessor))
    }
    return ledger
  }

  // MARK: By definition

  /// What replaced each stream, asked of all namings at once.
  private func expected(_ namings: [Naming]) -> [String: String] {
    func isLess(_ one: Naming, _ other: Naming) -> Bool {
      (one.day, one.id, one.stream) < (other.day, other.id, other.stream)
    }
    let streams = Set(namings.map(\.stream))
    var first: [String: Naming] = [:]
    for stream in streams {
      first[stream] = namings.filter { $0.predecessor == stream }.max(by: isLess)
    }
    var found: [String: String] = [:]
    for stream in streams {
      var path: [Naming] = []
      var next = first[stream]
      while let naming = next, path.count <= streams.count {
        path.append(naming)
        next = naming.stream == stream ? nil : first[naming.stream]
      }
      let isCircle = path.last?.stream == stream
      if isCircle, path.max(by: isLess)?.stream == stream { continue }
      found[stream] = first[stream]?.stream
    }
    return found
  }

  /// What the view, a list, single rows and the rows of a mirror say.
  private func expect(
    _ expected: [String: String], _ ledger: CustomerLedger, _ what: String
  ) throws {
    let test = ledger.scenario.ledger
    let now = try ScenarioSyntax.date("25-04-01")
    var view: [String: String] = [:]
    let sql = "SELECT original_transaction_id, succeeded_by FROM entitlement_v1"
    try QueryReader.open(test.folder).prepare(sql).run(QueryLimit(seconds: 30)) { row in
      if case .text(let one) = row[0], case .text(let other) = row[1] { view[one] = other }
      return true
    }
    #expect(view == expected, "view, \(what)")
    let reader = try test.reader()
    let list = try reader.list(.init(), after: nil, limit: 100, .init(now: now)).rows
    #expect(Self.successors(list) == expected, "list, \(what)")
    for row in list {
      let id = row.key.originalTransactionId
      #expect(try test.row(id, now: now)?.succeededBy == expected[id], "row \(id), \(what)")
      let past = try test.row(id, asOf: now)
      #expect(past?.succeededBy == expected[id], "past row \(id), \(what)")
    }
    let mirrored = try #require(try reader.mirroredRows(after: nil, limit: 100))
    let rows = mirrored.compactMap { row in
      row.succeededBy.map { (row.key.originalTransactionId, $0) }
    }
    #expect(Dictionary(rows) { $1 } == expected, "mirror, \(what)")
  }

  private static func successors(_ rows: [RowDocument]) -> [String: String] {
    let found = rows.compactMap { row in
      row.succeededBy.map { (row.key.originalTransactionId, $0) }
    }
    return Dictionary(found) { $1 }
  }

  // MARK: Examples

  private static let circle = [
    Naming(stream: "1000", day: 1, id: "1000"),
    Naming(stream: "5000", day: 5, id: "5000", predecessor: "1000"),
    Naming(stream: "1000", day: 9, id: "1009", predecessor: "5000"),
  ]

  @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func `of a circle the stream that names last was not replaced`(_ order: [Int]) throws {
    let ledger = try ledger(order.map { Self.circle[$0] })
    try expect(["5000": "1000"], ledger, "\(order)")
    // Before the customer came back, the bundle was the last.
    let before = try ScenarioSyntax.date("25-01-08")
    let test = ledger.scenario.ledger
    #expect(try test.row("1000", asOf: before)?.succeededBy == "5000")
    #expect(try test.row("5000", asOf: before)?.succeededBy == nil)
    let customer = try ledger.customer("5000", .originalTransactionId, now: "25-04-01")
    #expect(customer.rows.map(\.key.originalTransactionId) == ["1000", "5000"])
  }

  @Test func `a stream that replaced several is named by each of them`() throws {
    let namings = [
      Naming(stream: "1000", day: 1, id: "1000"), Naming(stream: "2000", day: 2, id: "2000"),
      Naming(stream: "5000", day: 5, id: "5000", predecessor: "1000"),
      Naming(stream: "5000", day: 6, id: "5006", predecessor: "2000"),
    ]
    let ledger = try ledger(namings)
    try expect(["1000": "5000", "2000": "5000"], ledger, "two")
  }

  /// What is told of another stream changes a row that it does not name: the circle is broken.
  @Test func `a mirror is given every row whose successor an event changes`() throws {
    let circle = [
      Naming(stream: "1", day: 1, id: "1"), Naming(stream: "2", day: 2, id: "2", predecessor: "1"),
      Naming(stream: "3", day: 3, id: "3", predecessor: "2"),
      Naming(stream: "1", day: 4, id: "14", predecessor: "3"),
    ]
    #expect(expected(circle) == ["2": "3", "3": "1"])
    let named = Naming(stream: "4", day: 5, id: "4", predecessor: "2")
    #expect(expected(circle + [named]) == ["1": "2", "2": "4", "3": "1"])
    let ledger = try ledger(circle + [named])
    let key = StreamKey(
      environment: .production, bundleId: TestLedger.bundleId, originalTransactionId: "4")
    let rows = try #require(try ledger.scenario.ledger.reader().mirroredRows(of: [key]))
    #expect(Set(rows.map(\.key.originalTransactionId)) == ["1", "2", "3", "4"])
    #expect(rows.count == 4)
  }

  // MARK: Law

  @Test func `every answer names the successor of the definition, in every order`() throws {
    var generator = SplitMix64(state: 4)
    var circles = 0
    for round in 0..<12 {
      let streams = Int.random(in: 2...5, using: &generator)
      var namings = (1...streams).map { Naming(stream: "\($0)", day: $0, id: "\($0)") }
      for number in 0..<Int.random(in: 1...7, using: &generator) {
        namings.append(
          Naming(
            stream: "\(Int.random(in: 1...streams, using: &generator))",
            day: Int.random(in: 6...9, using: &generator), id: "\(100 + number)",
            predecessor: "\(Int.random(in: 1...streams, using: &generator))"))
      }
      let expected = expected(namings)
      if Set(expected.values).count < Set(namings.compactMap(\.predecessor)).count { circles += 1 }
      try expect(
        expected, try ledger(namings.shuffled(using: &generator)), "round \(round): \(namings)")
    }
    #expect(circles > 2)
  }
}

/// Apple takes back what is left of a purchase that another one replaces.
@Suite struct ReplacementTests {
  private func ledger(begins: String) throws -> CustomerLedger {
    var ledger = try CustomerLedger(["pro": ["*"]])
    try ledger.send("SUBSCRIBED", "25-01-01", "1000 p 25-01-01→25-02-01 bought")
    try ledger.send(
      "REFUND", "25-01-15", "1000 p 25-01-01→25-02-01 bought refunded 25-01-15",
      more: ["revocationType": .string("REFUND_PRORATED")])
    try ledger.send(
      "MIGRATION", "25-01-20", "5000 p \(begins)→25-03-01 bought of 5000",
      more: ["previousOriginalTransactionId": .string("1000")])
    return ledger
  }

  @Test(arguments: [
    ("25-01-14", true), ("25-01-16", true), ("25-01-13", false), ("25-01-17", false),
  ])
  func `a revocation within a day of the successor is told as a replacement`(
    begins: String, isReplaced: Bool
  ) throws {
    let test = try ledger(begins: begins).scenario.ledger
    let history = try #require(try test.history("1000"))
    let words = history.entries.map(\.description)
    #expect(words.contains(isReplaced ? "replaced by 5000" : "refunded"), "\(words)")
    #expect(!words.contains(isReplaced ? "refunded" : "replaced by 5000"), "\(words)")
    let explanation = try #require(
      try test.reader().explain(
        "1000", environment: .production, bundleId: nil,
        .init(now: try ScenarioSyntax.date("25-01-25"))))
    #expect(explanation.row.entitlement.status == .revoked)
    let verdict = explanation.verdict
    #expect(verdict.contains("replaced by 5000") == isReplaced, "\(verdict)")
    let revocation = try #require(explanation.fields.first { $0.name == "revoked_at" })
    #expect(revocation.why.contains("replaced by 5000") == isReplaced, "\(revocation.why)")
    #expect(revocation.why.contains("refunded") != isReplaced, "\(revocation.why)")
  }
}
