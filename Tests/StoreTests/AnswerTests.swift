import AppStore
import Entitlements
import Platform
import Store
import Support
import Synchronization
import Testing

/// The present answers of rows, which lists and counts are made from: right at every time, whether
/// the writer has evaluated them again or not.
@Suite struct AnswerTests {
  private static let day: Int64 = 86_400_000
  private static let start: Int64 = 1_767_225_600_000
  private let identity = ProjectionIdentity(
    foldVersion: 1, fingerprint: "f1", journalId: [UInt8](repeating: 7, count: 16))

  private final class TestClock: Sendable {
    let now = Atomic<Int64>(AnswerTests.start)
    func set(_ time: Int64) { now.store(time, ordering: .relaxed) }
  }

  private func stream(_ number: Int, product: String, days: Int64?) -> FoldedStream {
    var transaction = Transaction()
    transaction.transactionId = "\(number)"
    transaction.productId = product
    transaction.type = days == nil ? "Non-Renewing Subscription" : "Auto-Renewable Subscription"
    transaction.purchaseDate = Self.start - Self.day
    transaction.expiresDate = days.map { Self.start + $0 * Self.day }
    transaction.signedDate = Self.start - Self.day
    var state = StreamState()
    state.evolve(
      FoldEvent(
        seq: Int64(number), uuid: NotificationUUID(high: 1, low: UInt64(number)),
        notificationType: "SUBSCRIBED", subtype: nil, signedDate: Self.start - Self.day, status: 1,
        transactions: [transaction]))
    let app = number % 2 == 0 ? "com.example.app" : "com.example.other"
    return FoldedStream(
      StreamKey(
        environment: "Production", bundleId: app, originalTransactionId: "\(1_000 + number)"),
      state)
  }

  /// Subscriptions that end on the days 0 to 9, and one season pass.
  private func projection(_ scratch: Scratch, _ clock: TestClock) throws -> Projection {
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    let projection = try Projection.create(
      path, identity, clock: { clock.now.load(ordering: .relaxed) })
    var streams = (0..<30).map {
      stream($0, product: $0 % 3 == 0 ? "yearly" : "monthly", days: Int64($0 % 10))
    }
    streams.append(stream(30, product: "season", days: nil))
    try projection.commit(
      rows: streams, foldedThrough: 31, hash: [UInt8](repeating: 1, count: 32))
    return projection
  }

  private func expect(
    _ reader: ProjectionReader, at day: Int64, _ durations: [String: Int64] = [:],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    let now = Self.start + day * Self.day
    var active = (0..<30).filter { Int64($0 % 10) > day }
    if durations["season"].map({ $0 - Self.day > day * Self.day }) ?? true { active.append(30) }
    let ids = active.map { "\(1_000 + $0)" }
    let durations = AppDurations(configured: Durations(milliseconds: durations))
    var filter = ProjectionReader.Filter()
    filter.statuses = [.active]
    var found: [String] = []
    var last: StreamKey?
    while true {
      let page = try reader.rows(filter, at: now, durations: durations, after: last, limit: 4)
      found += page.map(\.key.originalTransactionId)
      guard let end = page.last, page.count == 4 else { break }
      last = end.key
    }
    #expect(found == ids, "day \(day)", sourceLocation: location)
    filter.productId = "yearly"
    let yearly = try reader.rows(filter, at: now, durations: durations, after: nil, limit: 99)
    #expect(
      yearly.map(\.key.originalTransactionId)
        == active.filter { $0 % 3 == 0 && $0 < 30 }.map { "\(1_000 + $0)" },
      sourceLocation: location)
    let counts = try reader.counts(at: now, durations: durations)
    let sums = counts.byStatus.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
    #expect(sums[.active] ?? 0 == Int64(active.count), "day \(day)", sourceLocation: location)
    #expect(sums[.expired] ?? 0 == Int64(31 - active.count), sourceLocation: location)
  }

  @Test func `lists and counts are right before and after the answers are evaluated again`() throws
  {
    let scratch = try Scratch()
    let clock = TestClock()
    let projection = try projection(scratch, clock)
    let reader = try ProjectionReader.open(scratch.folder, path: projection.path)
    for day in [Int64(0), 4, 9, 30] { try expect(reader, at: day) }
    // Also for a time before that of the evaluation.
    try expect(reader, at: -1)
    for day in [Int64(1), 5, 20] {
      clock.set(Self.start + day * Self.day)
      #expect(
        try projection.nextDue() == Self.start + Self.day * (day == 20 ? 6 : day == 5 ? 2 : 1))
      while try projection.evaluateDue(limit: 4) > 0 {}
      for other in [day - 1, day, day + 1] { try expect(reader, at: other) }
    }
    #expect(try projection.nextDue() == nil)
    #expect(
      try (0..<31).allSatisfy { try reader.isIndexed(stream($0, product: "", days: nil).key) })
  }

  @Test func `configured durations end access as soon as they are adopted`() throws {
    let scratch = try Scratch()
    let clock = TestClock()
    let projection = try projection(scratch, clock)
    let reader = try ProjectionReader.open(scratch.folder, path: projection.path)
    let durations = ["season": 3 * Self.day]
    try projection.adopt(AppDurations(configured: Durations(milliseconds: durations)))
    for day in [Int64(0), 1, 2, 8] { try expect(reader, at: day, durations) }
    while try projection.evaluateDue(limit: 4) > 0 {}
    for day in [Int64(0), 1, 2, 8] { try expect(reader, at: day, durations) }
    try projection.adopt(AppDurations())
    for day in [Int64(0), 8] { try expect(reader, at: day) }
  }

  /// The row was taken for damaged until the next `adopt`, and the view showed a pass without end.
  @Test func `the first row of an app comes with the durations of its products`() throws {
    let scratch = try Scratch()
    let path = scratch.folder.projection(named: "entitlements-1.sqlite")
    try scratch.folder.create()
    let projection = try Projection.create(path, identity, clock: { Self.start })
    let durations = AppDurations(configured: Durations(milliseconds: ["season": 3 * Self.day]))
    try projection.adopt(durations)
    let pass = stream(30, product: "season", days: nil)
    try projection.commit(
      rows: [pass], foldedThrough: 31, hash: [UInt8](repeating: 1, count: 32))
    let reader = try ProjectionReader.open(scratch.folder, path: path)
    #expect(try reader.isIndexed(pass.key))
    #expect(try reader.evaluatedDurations().map(\.value) == [["season": 3 * Self.day]])
    #expect(try !projection.adopt(durations))
  }

  @Test func `lists and counts follow a change of durations before its rows are evaluated`() throws
  {
    let scratch = try Scratch()
    let clock = TestClock()
    let projection = try projection(scratch, clock)
    let passes = (100..<120).map { stream($0, product: "season", days: nil) }
    try projection.commit(
      rows: passes, foldedThrough: 51, hash: [UInt8](repeating: 2, count: 32))
    let reader = try ProjectionReader.open(scratch.folder, path: projection.path)
    // The other app has none.
    let app = stream(30, product: "", days: nil).key.stream("")
    var durations = AppDurations()
    durations.say(ProductMapping([:], durations: [:]), of: app, at: Self.start)
    try projection.adopt(durations)
    while try projection.evaluateDue(limit: 4) > 0 {}
    clock.set(Self.start + 5 * Self.day)
    let words = ["season": ProductDuration(milliseconds: 2 * Self.day)]
    durations.say(
      ProductMapping([:], durations: words), of: app, at: clock.now.load(ordering: .relaxed))
    try projection.adopt(durations)
    var filter = ProjectionReader.Filter()
    (filter.productId, filter.givesAccess) = ("season", true)
    for _ in 0..<8 {
      let now = clock.now.load(ordering: .relaxed)
      let then = try reader.rows(filter, at: now - 1, durations: durations, after: nil, limit: 99)
      let rows = try reader.rows(filter, at: now, durations: durations, after: nil, limit: 99)
      #expect(then.count == 21 && rows.count == 10, "the app with even numbers lost 11")
      let counts = try reader.counts(at: now, durations: durations)
      let sums = counts.byStatus.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: +) }
      #expect(sums[.active] == 22)
      _ = try projection.evaluateDue(limit: 4)
    }
    while try projection.evaluateDue(limit: 4) > 0 {}
    #expect(try projection.nextDue() == Self.start + 6 * Self.day)
    let again = try Projection.open(projection.path, copiesWAL: false)
    try again.adopt(durations)
    #expect(try again.nextDue() == Self.start + 6 * Self.day, "they were adopted before")
  }
}
