import AppStore
import Entitlements
import Support
import Testing

/// How long products last that Apple gives no end: as the owner said by each time.
@Suite struct DurationsTests {
  private static let day = TestDate.day
  private static let app = StreamKey(
    environment: .production, bundleId: "com.example.app", originalTransactionId: "")

  private static func days(_ days: [String: Int64]) -> [String: ProductDuration] {
    days.mapValues { ProductDuration(milliseconds: $0 * day) }
  }

  @Test func `what is said counts from then on, and what is said first before, too`() {
    var durations = Durations()
    durations.say(Self.days(["season": 90]), at: 1_000)
    durations.say(Self.days(["season": 30, "camp": 7]), at: 2_000)
    durations.say(Self.days(["camp": 7]), at: 3_000)
    func days(_ product: String, _ time: Int64) -> Int64? {
      durations.duration(of: product, at: time).map { $0.milliseconds / Self.day }
    }
    #expect([0, 1_999, 2_000, 2_999, 3_000].map { days("season", $0) } == [90, 90, 30, 30, nil])
    #expect([0, 1_999, 2_000, 3_000].map { days("camp", $0) } == [nil, nil, 7, 7])
    #expect(days("other", 0) == nil)
    // What was said later was not known then; but the first word was all there was.
    #expect(durations.known(by: 2_500).duration(of: "season", at: 9_000) != nil)
    #expect(durations.known(by: 500).duration(of: "season", at: 500)?.milliseconds == 90 * Self.day)
    // A clock that was set back.
    durations.say(Self.days(["season": 5, "camp": 7]), at: 2_500)
    #expect(days("season", 2_999) == 30 && days("season", 3_000) == 5)
  }

  @Test func `what is configured counts for an app of which nothing was said`() {
    var all = AppDurations(configured: ["season": 5])
    #expect(all[Self.app.stream("7000")].duration(of: "season", at: 0)?.milliseconds == 5)
    all.say(ProductMapping(), of: Self.app, at: 1)
    #expect(all.said(of: Self.app) == nil, "nothing was said of durations")
    all.say(ProductMapping([:], durations: [:]), of: Self.app, at: 1)
    #expect(all[Self.app].duration(of: "season", at: 0) == nil)
    let sandbox = StreamKey(
      environment: .sandbox, bundleId: "com.example.app", originalTransactionId: "")
    #expect(all[sandbox].duration(of: "season", at: 0)?.milliseconds == 5)
  }

  /// `PlainRow` shares no code with the fold, and knows one duration.
  @Test func `at each time a row ends by the duration that counts then`() {
    Property(histories: TestCount.histories.number / 20).holds("the row") { events, chance in
      let row = EntitlementRow(folded(events))
      let clocks = RandomHistory.clocks(events, &chance, count: 8).sorted()
      var durations = Durations()
      for clock in clocks.prefix(3) {
        let days: Int64? = [nil, 1, 2, 11, 401].randomElement(using: &chance) ?? nil
        durations.say(days.map { Self.days(["season": $0]) } ?? [:], at: clock)
      }
      let answers = row.answers(durations: durations)
      for time in clocks + clocks.map({ $0 - 1 }) + answers.map(\.asOf) {
        let own = row.entitlement(at: time, durations: durations)
        let plain = PlainRow(events: events, t: time, durations: durations.milliseconds(at: time))
        guard own?.summary == plain.summary else { return "at \(time)" }
        let known = answers.last { $0.asOf <= time }
        guard known?.status == own?.status, known?.expiresAt == own?.expiresAt,
          known?.givesAccess == own?.givesAccess
        else { return "the answers at \(time)" }
        guard let current = row.current(at: time, durations: durations) else { continue }
        guard current.status == own?.status, current.from <= time, current.until ?? .max > time
        else { return "the present answer at \(time)" }
        let last = current.until.map { $0 - 1 } ?? .max
        guard row.entitlement(at: last, durations: durations)?.status == current.status else {
          return "the end of the present answer at \(time)"
        }
      }
      return nil
    }
  }

  @Test func `a mapping without durations has the bytes it had before there were any`() throws {
    func statement(_ mapping: ProductMapping) -> OwnerStatement {
      OwnerStatement(
        .catalog(mapping), mac: OwnerStatement.nobody, environment: .production,
        bundleId: "com.example.app", at: 5, id: "i", token: "configuration")
    }
    let names = ["pro": NamedEntitlement(products: ["pro.*"])]
    let bare = statement(ProductMapping(names))
    #expect(
      String(decoding: bare.body, as: UTF8.self) == """
        {"at":5,"bundleId":"com.example.app","entitlements":{"pro":{"access_leeway_ms":0,\
        "products":["pro.*"]}},"environment":"Production","id":"i","token":"configuration",\
        "type":"CATALOG"}
        """)
    let season = ProductDuration(milliseconds: 90 * Self.day, addsUp: true)
    for durations in [[:], ["season": season], Self.days(["a": 1, "b": 7])] {
      let said = statement(ProductMapping(names, durations: durations))
      #expect(OwnerStatement(body: said.body) == said)
      #expect(said.content != bare.content)
    }
    let short = statement(ProductMapping(names, durations: ["a": .init(milliseconds: 5)]))
    #expect(OwnerStatement(body: short.body) == nil, "what could not be configured is not read")
  }
}
