import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// The questions of the page about finance, and the books of a simulated App Store: `make books`.
@Suite struct FinanceBooksTests {
  /// The reports that the page asks for, each with the answer that it prints.
  private static func printed() throws -> [(arguments: [String], answer: String?)] {
    var found: [(arguments: [String], answer: String?)] = []
    for block in try DocumentationPage.operating("finance").blocks {
      if block.hasPrefix("subledger report ") {
        found.append((block.split(separator: " ").dropFirst().map(String.init), nil))
      } else {
        found[found.count - 1].answer = block
      }
    }
    return found
  }

  @Test func `the page prints what its simulated customers give`() throws {
    let installation = try Installation()
    let fleet = Fleet(
      app: SimulatedApp(), customers: 2_000, days: 400, end: try Finance.time("2026-09-01"), seed: 5
    )
    let notifications = fleet.notifications()
    try Finance.ingest(notifications.map { ($0.payload, $0.signedDate) }, installation)
    let book = SalesBook(notifications)
    let last = (book.entries.map(\.day).max() ?? 0) - 1
    for (name, text) in [
      ("financial", book.financial(last - 27...last)), ("sales", book.sales(last - 27...last)),
    ] {
      try Data(text.utf8).write(to: installation.folder.appending(path: "\(name).txt"))
    }
    // Each once, in this order, behind those that print SQL, or answer as known at a moment.
    let printed = Array(try Self.printed().drop { $0.arguments.count > 2 })
    #expect(printed.map { $0.arguments[1] } == Finance.reports + ["compare"])
    // What is due and at risk depends on the day on which it is asked.
    #expect(printed.indices.filter { printed[$0].answer == nil } == [4, 7])
    for (arguments, answer) in printed {
      let result = try installation.run(arguments)
      #expect(result.code == 0, "\(arguments): \(result)")
      guard let answer else { continue }
      #expect(
        result.output.hasPrefix(answer + "\n"), "\(arguments): \(result.output.prefix(1_000))")
    }
  }

  @Test func `the answers are those of the books of a simulated App Store`() throws {
    let installation = try Installation()
    let now = Int64(Date().timeIntervalSince1970 * 1000) - 60_000
    let seed = TestSeed.drawn
    var random = SplitMix64(seed: seed)
    var fleet = Fleet(
      app: SimulatedApp(), customers: TestCount.books.number, days: 800, end: now, seed: seed)
    // Teams, families and purchases of the Advanced Commerce API too, and a sandbox.
    fleet.lifecycles = (0...fleet.customers / 200).flatMap { _ in Lifecycle.all }
    var sandbox = fleet
    sandbox.app.environment = "Sandbox"
    sandbox.first = 300_000
    sandbox.customers /= 10
    sandbox.lifecycles = []
    // Some are lost; others come days late, or twice.
    var arrived: [(JSONValue, Int64)] = []
    var lost: [(JSONValue, Int64)] = []
    for notification in fleet.notifications() + sandbox.notifications() {
      if random.once(in: 40) {
        lost.append((notification.payload, now))
        continue
      }
      let late = random.once(in: 10) ? Int64(random.below(5)) * Sample.day : 2_000
      arrived.append((notification.payload, min(now, notification.signedDate + late)))
      if random.once(in: 20) { arrived.append((notification.payload, now)) }
    }
    arrived.sort { $0.1 < $1.1 }
    try Finance.ingest(arrived, installation)
    let books = Books(arrived.map(\.0))
    func expect(_ number: Int, _ told: [String], _ value: String = "") throws {
      let found = try Finance.answer(number, installation, value)
      let missing = Set(told).subtracting(found).sorted()
      let wrong = Set(found).subtracting(told).sorted()
      #expect(
        found == told, "seed \(seed), question \(number) \(value): \(wrong), not \(missing)")
    }
    try expect(1, books.charged)
    try expect(2, books.refunded)
    try expect(3, books.net)
    try expect(4, books.trials(at: now))
    for month in ["2025-06", "2025-12", "2026-04", "2026-09"] {
      let date = try Date("\(month)-01T00:00:00Z", strategy: .iso8601)
      let time = Int64(date.timeIntervalSince1970 * 1000)
      try expect(6, books.running(at: time), "\(month)-01")
      try expect(11, books.recurring(at: time), "\(month)-01")
    }
    try expect(9, books.changes)
    for token in Set(books.purchases.compactMap(\.token)).sorted().prefix(5) {
      try expect(10, books.customer(token), token)
    }
    for number in 12...14 { try expect(number, books.answer(number, customer: "")) }
    #expect(try installation.run("verify").code == 0)
    try checkMoments(arrived, installation, &random, seed)
    // What was lost comes at last: then the books know too what is due, gone, and at risk.
    try Finance.ingest(lost, installation)
    let all = Books((arrived + lost).map(\.0))
    for number in [1, 3, 5, 7, 8, 13] {
      try self.expect(number, all, installation, customer: "", "seed \(seed)")
    }
  }

  /// A customer's purchases as of earlier times, by both clocks.
  private func checkMoments(
    _ arrived: [(payload: JSONValue, at: Int64)], _ installation: Installation,
    _ random: inout SplitMix64, _ seed: UInt64
  ) throws {
    let daemon = try installation.start()
    let byStream = Dictionary(grouping: arrived) {
      $0.payload["data"]?["transaction"]?.text("originalTransactionId") ?? ""
    }
    let streams = Books(arrived.map(\.payload)).streams.keys.sorted()
    for _ in 0..<40 {
      let stream = streams[Int(random.below(Int64(streams.count)))]
      let moment = arrived[Int(random.below(Int64(arrived.count)))].at
      for clock in ["as_of", "known_at"] {
        let known = (byStream[stream] ?? []).filter {
          clock == "as_of" ? $0.payload.number("signedDate") ?? 0 <= moment : $0.at <= moment
        }
        let own = Books(known.map(\.payload)).streams[stream] ?? []
        let path = "/v1/entitlements/\(stream)/transactions?\(clock)=\(moment)"
        let listed = daemon.client().get(path)?.json?["items"]?.elements ?? []
        func sum(_ amount: (JSONElement) -> Int64?) -> Int64 {
          listed.reduce(0) { $0 + (amount($1) ?? 0) }
        }
        #expect(listed.count == own.count, "seed \(seed): \(path)")
        #expect(
          sum { $0["price"]?["milliunits"]?.integer } == own.reduce(0) { $0 + $1.price },
          "seed \(seed): \(path)")
        #expect(
          sum { $0["refunded"]?.integer } == own.reduce(0) { $0 + $1.refund },
          "seed \(seed): \(path)")
      }
    }
    #expect(try daemon.stop().code == 0)
  }

  /// Each time another fleet's life goes on until after now, so that now is any moment of it: in
  /// turns, what Apple signed by then and what was delivered by then.
  @Test func `both databases give the answers of the books at any moment`() throws {
    let seed = TestSeed.drawn
    var random = SplitMix64(seed: seed)
    for round in 0..<TestCount.moments.number {
      let world = try MirrorWorld()
      let now = Clock.now()
      var fleet = Fleet(
        app: SimulatedApp(), customers: 150, days: 800,
        end: now + random.below(700 * Sample.day), seed: seed &+ UInt64(round))
      fleet.lifecycles = Lifecycle.all
      let arrived = fleet.notifications().compactMap { notification in
        let isLate = !round.isMultiple(of: 2) && random.once(in: 10)
        let at = notification.signedDate + (isLate ? Int64(random.below(5)) * Sample.day : 0)
        return at <= now ? (notification.payload, at) : nil
      }
      try Finance.ingest(arrived, world.installation)
      let daemon = try world.installation.start()
      try world.waitUntilCurrent(daemon)
      let books = Books(arrived.map(\.0))
      let token = books.purchases.filter { $0.ownership == "PURCHASED" }.compactMap(\.token).max()
      let told = "seed \(seed), moment \(round)"
      for number in 1...Finance.reports.count {
        try compare(number, world, customer: token ?? "", told)
        // What is due, gone and at risk is known once all that was signed is here.
        guard round.isMultiple(of: 2) || ![5, 7, 8].contains(number) else { continue }
        try expect(number, books, world.installation, customer: token ?? "", told)
      }
      try checkDescriptions(world)
      #expect(try daemon.stop().code == 0)
    }
  }

  /// An answer of both databases, asked again where time changed it meanwhile.
  private func compare(_ number: Int, _ world: MirrorWorld, customer: String, _ told: String) throws
  {
    let arguments = Finance.arguments(number, number == 10 ? customer : "")
    let text = try world.installation.run(arguments + ["--postgresql"]).output
    func here() throws -> [[String]] {
      let result = try world.installation.run(arguments + ["--csv"])
      let here = try CSVText(result.output)
      return here.rows.map { row in here.columns.map { Finance.cell(row[$0] ?? "") } }
    }
    var (before, there, after): ([[String]], [[String]], [[String]])
    repeat {
      before = try here()
      there = try world.sql(text.replacing("subledger.", with: "ledger."))
        .split(separator: "\n").map { line in
          line.split(separator: "|", omittingEmptySubsequences: false)
            .map { Finance.cell(String($0)) }
        }
      after = try here()
    } while before != after
    #expect(
      Set(before) == Set(there) && before.count == there.count,
      """
      \(told), question \(number): \(Set(before).subtracting(there)), in PostgreSQL \
      \(Set(there).subtracting(before))
      """)
  }

  private func expect(
    _ number: Int, _ books: Books, _ installation: Installation, customer: String, _ told: String
  ) throws {
    var (before, found, after): ([String], [String], [String])
    repeat {
      before = try books.answer(number, customer: customer)
      found = try Finance.answer(number, installation, number == 10 ? customer : "")
      after = try books.answer(number, customer: customer)
    } while before != after
    #expect(
      found == before,
      """
      \(told), question \(number): \(Set(found).subtracting(before).sorted()), not \
      \(Set(before).subtracting(found).sorted())
      """)
  }

  /// Each column of the mirror says what it is.
  private func checkDescriptions(_ world: MirrorWorld) throws {
    let missing = try world.sql(
      """
      SELECT count(*) FROM information_schema.columns
      WHERE table_schema = 'ledger' AND table_name = 'transaction_v1'
      AND col_description('ledger.transaction_v1'::regclass, ordinal_position) IS NULL
      """)
    #expect(missing == "0")
  }
}
