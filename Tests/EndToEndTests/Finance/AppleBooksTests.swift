import AppStoreSimulator
import Foundation
import Platform
import StrictJSON
import Support
import Testing

/// `report compare` and the books of a simulated App Store, whose reports say something else in
/// places: `make books`.
@Suite struct AppleBooksTests {
  /// What is put in, and the reason that has to be found in the Financial and in the Sales report;
  /// nil where both sides are the same there.
  private enum Difference: CaseIterable {
    case settledLater, notCollected, settledBefore, nextDay, datedAsBought, withheld, otherPrice
    case notSold
  }

  private typealias Entry = SalesBook.Entry

  /// A line of the answer: its key with the reason, then the units and milliunits of both sides.
  private typealias Lines = [String: [Int64]]

  private static let days: Int64 = 90

  /// A file as Apple may write it.
  private enum Form: CaseIterable { case plain, monthFirst, odd }

  private static func text(_ text: String, _ form: Form) -> String {
    switch form {
    case .plain: return text
    case .monthFirst: return text.replacing(/(\d{4})-(\d\d)-(\d\d)/) { "\($0.2)/\($0.3)/\($0.1)" }
    case .odd:
      // Columns in another order and case, and lines with other ends; neither is the preamble a row
      // nor are the totals.
      var (isTable, isOver) = (false, false)
      return text.split(separator: "\n").map { line in
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
        isOver = isOver || line.hasPrefix("Country Of Sale\t")
        let isHeader = !isTable && fields.count > 2
        isTable = isTable || isHeader
        guard isTable, !isOver else { return line + "\r\n" }
        let row = fields.reversed().joined(separator: "\t")
        return (isHeader ? row.lowercased() + "\tnote" : row + "\t") + "\r\n"
      }.joined()
    }
  }

  // MARK: What is put in

  /// Picks entries for each difference: no two of a product in a country within some days, so that
  /// each is found by itself.
  private static func picked(
    _ book: SalesBook, _ first: Int64, _ last: Int64, each count: Int, _ random: inout SplitMix64
  ) -> [Int: Difference] {
    var taken: Set<String> = []
    let entries = book.entries
    let purchases = Dictionary(entries.map { ($0.transactionId, 1) }, uniquingKeysWith: +)
    func places(_ entry: Entry) -> [String] {
      [entry.day, entry.bought].flatMap { day in
        (day - 2...day + 2).map { "\(entry.product) \(entry.country) \($0)" }
      }
    }
    // What the ledger says of a refund on the day of a purchase may be another one's.
    for entry in entries where entry.isReturn && entry.milliunits % 10 != 0 {
      taken.formUnion(places(entry))
    }
    var picked: [Int: Difference] = [:]
    var left = Dictionary(uniqueKeysWithValues: Difference.allCases.map { ($0, count) })
    var order = Array(entries.indices)
    for index in order.indices.dropFirst() {
      order.swapAt(index, Int(random.below(Int64(index + 1))))
    }
    for index in order {
      let entry = entries[index]
      let isAlone = purchases[entry.transactionId] == 1
      let fit = Difference.allCases.first { difference in
        guard left[difference] ?? 0 > 0, entry.milliunits % 10 == 0 else { return false }
        switch difference {
        case .settledBefore: return isAlone && first - 20..<first ~= entry.day
        case .datedAsBought:
          return entry.isReturn && first...last ~= entry.day && entry.bought < entry.day - 2
        case _ where !isAlone || !(first...last ~= entry.day): return false
        case .settledLater: return entry.day + 60 >= last
        case .notCollected: return entry.day + 60 < last
        case .nextDay: return entry.day < last
        case .withheld, .otherPrice, .notSold: return true
        }
      }
      guard let fit, taken.isDisjoint(with: places(entry)) else { continue }
      taken.formUnion(places(entry))
      picked[index] = fit
      left[fit, default: 0] -= 1
    }
    return picked
  }

  /// The books as the Financial report has them, and as the Sales report has them.
  private static func falsified(
    _ book: SalesBook, _ picked: [Int: Difference], _ first: Int64, _ last: Int64,
    _ random: inout SplitMix64
  ) -> (financial: SalesBook, sales: SalesBook) {
    var (financial, sales) = (book, book)
    for index in book.entries.indices {
      let entry = book.entries[index]
      // Most is settled some days later, in another file or in the same one.
      financial.entries[index].settled =
        first...last ~= entry.day ? min(last, entry.day + random.below(4)) : entry.day
      switch picked[index] {
      case .settledLater, .notCollected: financial.entries[index].settled = last + 10
      case .settledBefore: financial.entries[index].settled = first + 3
      case .nextDay:
        (financial.entries[index].day, sales.entries[index].day) = (entry.day + 1, entry.day + 1)
        financial.entries[index].settled = entry.day + 1
      case .datedAsBought: financial.entries[index].day = entry.bought
      case .otherPrice:
        financial.entries[index].milliunits += 1_000 * entry.units
        sales.entries[index].milliunits += 1_000 * entry.units
      case .notSold: sales.entries[index].day = last + 10
      case .withheld, nil: break
      }
    }
    return (financial, sales)
  }

  // MARK: What has to be found

  private static func add(
    _ lines: inout Lines, _ report: String, _ entry: Entry, _ day: Int64, price: Int64,
    _ reason: String, ours: Int64 = 0, theirs: Int64 = 0, ourPrice: Int64? = nil
  ) {
    let date = Timestamp.text(day * Sample.day).prefix(10)
    let key =
      "\(report) \(date) \(entry.product) \(entry.country) \(entry.isReturn ? "return" : "sale") "
      + "\(price) \(entry.currency) \(reason)"
    let sign: Int64 = entry.isReturn ? -1 : 1
    let sums = [ours, theirs, ours * (ourPrice ?? price) * sign, theirs * price * sign]
    lines[key] = zip(lines[key] ?? [0, 0, 0, 0], sums).map(+)
  }

  private static func expected(
    _ book: SalesBook, _ picked: [Int: Difference], _ first: Int64, _ last: Int64
  ) -> Lines {
    var lines: Lines = [:]
    for (index, entry) in book.entries.enumerated() {
      let price = entry.milliunits / entry.units
      let units = entry.units
      for report in ["financial", "sales"] {
        func add(
          _ day: Int64, _ reason: String, ours: Int64 = 0, theirs: Int64 = 0, dearer: Int64 = 0
        ) {
          Self.add(
            &lines, report, entry, day, price: price + dearer, reason, ours: ours * units,
            theirs: theirs * units)
        }
        let isInside = first...last ~= entry.day
        switch (picked[index], report) {
        case (.settledBefore, "financial"): add(entry.day, "not in the file's days", theirs: 1)
        case _ where !isInside: break
        case (.settledLater, "financial"): add(entry.day, "not yet settled", ours: 1)
        case (.notCollected, "financial"): add(entry.day, "not collected", ours: 1)
        case (.nextDay, _):
          add(entry.day, "later day", ours: 1)
          add(entry.day + 1, "later day", theirs: 1)
        case (.datedAsBought, "financial"):
          let reason = entry.bought < first ? "not in the file's days" : "later day"
          add(entry.day, reason, ours: 1)
          add(entry.bought, reason, theirs: 1)
        case (.withheld, _): add(entry.day, "not in notifications", theirs: 1)
        case (.otherPrice, _):
          add(entry.day, "unexplained", ours: 1)
          add(entry.day, "unexplained", theirs: 1, dearer: 1_000)
        case (.notSold, "sales"): add(entry.day, "unexplained", ours: 1)
        default:
          let cents = (price + 5) / 10 * 10
          Self.add(
            &lines, report, entry, entry.day, price: cents, cents == price ? "" : "price rounding",
            ours: units, theirs: units, ourPrice: price)
        }
      }
    }
    return lines
  }

  private static func found(_ result: CommandResult) throws -> Lines {
    var lines: Lines = [:]
    for line in try result.lines() {
      func milliunits(_ name: String) -> Int64 {
        Int64(((Double(line[name]?.value.text ?? "") ?? -1) * 1000).rounded())
      }
      func text(_ name: String) -> String { line[name]?.string ?? "" }
      #expect(text("first_day") == text("last_day"))
      #expect(
        milliunits("difference") == milliunits("ours") - milliunits("theirs"), "\(line.value.text)")
      let key =
        "\(text("report")) \(text("first_day")) \(text("product_id")) \(text("country")) "
        + "\(text("kind")) \(milliunits("price")) \(text("currency")) \(text("reason"))"
      #expect(lines[key] == nil, "twice: \(key)")
      lines[key] = [
        line["our_units"]?.integer ?? -1, line["their_units"]?.integer ?? -1, milliunits("ours"),
        milliunits("theirs"),
      ]
      let isOurs = line["our_units"]?.integer ?? 0 > 0
      if isOurs { #expect(text("transaction_ids").isEmpty == false, "\(key)") }
    }
    return lines
  }

  // MARK: The test

  private static func compress(_ file: String, _ installation: Installation) throws -> String {
    let gzip = try RunningCommand(
      ["-f", file], in: installation.folder, program: URL(filePath: "/usr/bin/gzip")
    ).finish()
    guard gzip.code == 0 else { throw TestFailure("\(gzip)") }
    return file + ".gz"
  }

  /// The files of three months, each in another form, one of them compressed.
  private func files(
    _ name: String, _ first: Int64, _ installation: Installation,
    _ write: (ClosedRange<Int64>) -> String
  ) throws -> [String] {
    try Form.allCases.enumerated().map { number, form in
      let start = first + Int64(number) * (Self.days / 3)
      let file = installation.folder.appending(path: "\(name)-\(number).txt").path
      let text = Self.text(write(start...start + Self.days / 3 - 1), form)
      try Data(text.utf8).write(to: URL(filePath: file))
      return form == .monthFirst ? try Self.compress(file, installation) : file
    }
  }

  private struct World {
    let installation: Installation
    let book: SalesBook
    let picked: [Int: Difference]
    let first, last: Int64
    let told: String
  }

  private func world(_ random: inout SplitMix64) throws -> World {
    let installation = try Installation()
    let end = try Finance.time("2026-04-01") + random.below(200) * Sample.day
    let fleet = Fleet(
      app: SimulatedApp(), customers: TestCount.books.number * 2, days: 400, end: end,
      seed: TestSeed.drawn)
    let notifications = fleet.notifications()
    let book = SalesBook(notifications)
    let last = end / Sample.day - 3
    let first = last - Self.days + 1
    let picked = Self.picked(book, first, last, each: 4, &random)
    let withheld = Set(
      picked.filter { $0.value == .withheld }.map { book.entries[$0.key].transactionId })
    try Finance.ingest(
      notifications.filter { notification in
        let id = notification.payload["data"]?["transaction"]?.text("transactionId")
        return !withheld.contains(id ?? "")
      }.map { ($0.payload, $0.signedDate) }, installation)
    return World(
      installation: installation, book: book, picked: picked, first: first, last: last,
      told: "seed \(TestSeed.drawn), \(first) to \(last)")
  }

  @Test func `each difference that was put in is explained or found, and no other one`() throws {
    var random = SplitMix64(seed: TestSeed.drawn)
    let world = try world(&random)
    let (first, last) = (world.first, world.last)
    for difference in Difference.allCases {
      #expect(world.picked.values.contains(difference), "\(difference): \(world.told)")
    }
    let books = Self.falsified(world.book, world.picked, first, last, &random)
    let financial = try files("financial", first, world.installation, books.financial.financial)
    let sales = try files("sales", first, world.installation, books.sales.sales)
    let expected = Self.expected(world.book, world.picked, first, last)
    let result = try world.installation.run(["report", "compare", "--json"] + financial + sales)
    #expect(result.code == 1, "\(result.errors)")
    let found = try Self.found(result)
    let wrong = Set(found.map { "\($0)" }).subtracting(expected.map { "\($0)" }).sorted()
    let missing = Set(expected.map { "\($0)" }).subtracting(found.map { "\($0)" }).sorted()
    #expect(wrong == [] && missing == [], "\(world.told)")
    // Each report by itself says the same of itself.
    for (name, paths) in [("financial", financial), ("sales", sales)] {
      let alone = try world.installation.run(
        ["report", "compare", "--json", "--only", "unexplained"] + paths)
      let told = try Self.found(alone).filter { $0.key.hasPrefix(name) }
      #expect(told == expected.filter { $0.key.hasPrefix(name) && $0.key.hasSuffix("unexplained") })
    }
    #expect(try world.installation.run("verify").code == 0)
  }

  @Test func `where nothing was put in there is nothing but roundings`() throws {
    var random = SplitMix64(seed: TestSeed.drawn &+ 1)
    let world = try world(&random)
    let withheld = world.picked.filter { $0.value == .withheld }
    let expected = Self.expected(world.book, withheld, world.first, world.last)
    let daemon = try world.installation.start()
    let financial = try files("financial", world.first, world.installation, world.book.financial)
    let sales = try files("sales", world.first, world.installation, world.book.sales)
    let result = try world.installation.run(["report", "compare", "--json"] + financial + sales)
    #expect(result.code == 0, "\(result.errors)")
    #expect(try Self.found(result) == expected, "\(world.told)")
    #expect(try daemon.stop().code == 0)
  }
}
