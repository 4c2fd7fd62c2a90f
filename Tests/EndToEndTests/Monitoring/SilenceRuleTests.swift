import Foundation
import Support
import Testing

/// The rule for notifications that stopped: it fires when Apple is unusually silent, and neither
/// for an app that is silent at night, nor for one of its types, nor because of a restart.
@Suite struct SilenceRuleTests {
  private static let last =
    "subledger_last_notification_time_seconds{app=\"com.example.app\",environment=\"Production\"}"
  private static let alert = ["SubledgerSilent"]
  private static let day = 24.0

  @Test(.enabled(if: RuleScenario.hasPromtool))
  func `an unusual silence fires, and a usual one does not`() throws {
    let scenarios = [
      Self.nights, Self.busy, Self.weekends, Self.restart, Self.outage, Self.down, Self.test,
      Self.rare, Self.several,
    ]
    let tried = try RuleScenario.run(scenarios, evaluatedEvery: 60, hasSilence: true)
    #expect(tried.code == 0, "\(tried)")
  }

  /// The hours of notifications: one an hour from eight to seven in the evening, on some days.
  private static func byDay(_ days: Range<Int>, where isDay: (Int) -> Bool = { _ in true })
    -> [Double]
  {
    days.filter(isDay).flatMap { day in (8..<20).map { Double(day) * Self.day + Double($0) } }
  }

  /// - Parameter times: of the notifications, in hours.
  private static func scenario(_ name: String, days: Int, _ times: [Double]) -> RuleScenario {
    var scenario = RuleScenario(name, hours: days * 24)
    set(&scenario, last, times)
    return scenario
  }

  private static func set(_ scenario: inout RuleScenario, _ metric: String, _ times: [Double]) {
    var rest = times.map { $0 * 3600 + 17 }[...]
    var newest: Double?
    scenario.set(metric) { now in
      while let next = rest.first, next <= now {
        newest = next
        rest = rest.dropFirst()
      }
      return newest
    }
  }

  /// Thirteen silent hours are usual: the alert comes after 39.
  private static var nights: RuleScenario {
    var one = scenario("silent nights, then silence", days: 18, byDay(0..<15) + [15 * day + 8])
    one.expectNone(until: 15 * day + 8 + 38)
    one.expect(alert, at: 15 * day + 8 + 41)
    one.expect(alert, at: 18 * day)
    return one
  }

  private static var busy: RuleScenario {
    let times = (0..<Int(15 * day * 6)).map { Double($0) / 6 }
    var one = scenario("one every ten minutes, then silence", days: 16, times)
    one.expectNone(until: 15 * day + 5)
    one.expect(alert, at: 15 * day + 7)
    return one
  }

  /// The first weeks too, of which too little is known yet.
  private static var weekends: RuleScenario {
    var one = scenario("silent nights and weekends", days: 28, byDay(0..<28) { $0 % 7 < 5 })
    one.expectNone(until: 28 * day)
    return one
  }

  /// One restart of each healthy day at night, and one in the silence; each time the journal is
  /// read first, and the time is 0 meanwhile.
  private static var restart: RuleScenario {
    var one = scenario("restarts", days: 18, byDay(0..<15) + [15 * day + 8])
    for number in 0..<18 {
      let time = Double(number) * day + 2
      one.stopScrape(from: time, to: time + 0.2)
      if number > 0 { one.set(last, from: time + 0.2, to: time + 0.3) { _ in 0 } }
    }
    one.expectNone(until: 15 * day + 8 + 38)
    one.expect(alert, at: 17 * day + 4)
    return one
  }

  /// Apple could not reach the daemon for three days: an alarm, and not usual from then on.
  private static var outage: RuleScenario {
    let times = byDay(0..<27) { !(16...18).contains($0) }
    var one = scenario("an outage, then silence", days: 29, times)
    one.expectNone(until: 17 * day + 9)
    one.expect(alert, at: 17 * day + 12)
    one.expect([], at: 19 * day + 9)
    one.expect([], at: 28 * day + 9)
    one.expect(alert, at: 28 * day + 12)
    return one
  }

  /// The daemon was down for three days, and what it missed was recovered, not posted.
  private static var down: RuleScenario {
    var one = scenario("down, then silence", days: 29, byDay(0..<27))
    one.stopScrape(from: 16 * day, to: 19 * day)
    one.expect(["SubledgerDown"], at: 18 * day)
    one.expect([], at: 19 * day + 9)
    one.expect([], at: 28 * day + 9)
    one.expect(alert, at: 28 * day + 12)
    return one
  }

  /// A TEST is no notification; and one type that stops is not the app.
  private static var test: RuleScenario {
    var one = scenario("TEST alone", days: 18, byDay(0..<15))
    set(
      &one, last.replacing("last_notification", with: "last_test"),
      (0..<18 * 24).map(Double.init))
    one.set("subledger_notifications_total{type=\"REFUND\",outcome=\"accepted\"}") { min($0, 600) }
    one.expectNone(until: 16 * day + 9)
    one.expect(alert, at: 16 * day + 12)
    return one
  }

  private static var rare: RuleScenario {
    var one = scenario("one in two days", days: 20, (0..<6).map { Double($0) * 2 * day })
    one.expectNone(until: 20 * day)
    return one
  }

  /// Two daemons of a shared journal: one that is down does not matter.
  private static var several: RuleScenario {
    var one = scenario("two daemons", days: 18, byDay(0..<15))
    let other = last.replacing("{", with: "{instance=\"b:8080\",")
    set(&one, other, byDay(0..<15))
    one.set(other, from: 3 * day) { _ in nil }
    one.expectNone(until: 16 * day + 9)
    one.expect(alert, at: 16 * day + 12)
    return one
  }
}
