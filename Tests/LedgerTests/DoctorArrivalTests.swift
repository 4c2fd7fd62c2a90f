import AppStore
import Audit
import Ledger
import Store
import StrictJSON
import Support
import Testing

/// What `doctor` says of notifications that stopped, of an app and of one type.
@Suite struct DoctorArrivalTests {
  private static let hour: Int64 = 3_600_000
  private static let start = Sample.start

  /// A ledger that is told of notifications by the hour.
  private final class Told {
    let ledger: TestLedger
    private var number = 0

    init() throws { ledger = try TestLedger() }

    /// - Parameter arrival: nil for posted.
    func tell(
      _ type: String, at hour: Int, _ environment: String = "Production",
      arriving arrival: EventArrival? = nil
    ) throws {
      number += 1
      var notification = Sample.notification(number, type: type, environment: environment)
      if type == "TEST" {
        for member in ["transaction", "renewalInfo", "status"] {
          notification = notification.setting("data.\(member)", nil)
        }
      }
      let body = try SharedAuthority.sign(notification)
      let time = start + Int64(hour) * DoctorArrivalTests.hour
      guard let arrival else {
        #expect(try ledger.ingest(body, at: time) == .accepted(Int64(number)))
        return
      }
      let line = Array("{\"arrival\":\"\(arrival.rawValue)\",\"body\":".utf8) + body + [0x7D]
      #expect(ledger.ingest(lines: [line], at: time) == [.accepted(seq: Int64(number))])
    }

    /// The findings about arrivals, as of so many hours.
    func findings(at hour: Int) -> [DoctorCheck] {
      Doctor.examine(
        ledger.configuration, file: nil, at: start + Int64(hour) * DoctorArrivalTests.hour
      ).filter { $0.topic == "arrivals" && $0.isFinding }
    }
  }

  /// A renewal every six hours for twenty days, and a type of its own rhythm until it stops.
  ///
  /// - Parameters:
  ///   - every: hours between two of the type.
  ///   - end: the hour from which on there is none.
  private func told(
    every: Int = 24, until end: Int, renewals last: Int = 480, _ environment: String = "Production"
  ) throws -> Told {
    let told = try Told()
    for hour in 0..<480 {
      if hour % 6 == 0, hour < last { try told.tell("DID_RENEW", at: hour, environment) }
      if hour % every == 3, hour < end { try told.tell("REFUND", at: hour, environment) }
    }
    return told
  }

  @Test func `a type that came every day and stopped while others go on is a finding`() throws {
    let found = try told(until: 15 * 24 + 4).findings(at: 480)
    #expect(
      found.map(\.what) == [
        "com.example.app Production: the last REFUND came 4 days ago, and others come; before, it "
          + "came on 14 of 14 days, and its longest pause was 24 hours"
      ])
    #expect(
      found.first?.next?.contains(
        "subledger recover --app com.example.app --environment Production --since "
          + "2026-01-16T03:00:00Z --dry-run") == true, "\(found)")
  }

  @Test func `a silence that may be usual is none of a type`() throws {
    // Three times its longest pause have not passed.
    #expect(try told(until: 17 * 24 + 4).findings(at: 480).isEmpty)
    // It never came every day.
    #expect(try told(every: 40, until: 10 * 24).findings(at: 480).isEmpty)
    // Who tests in the Sandbox decides what comes.
    #expect(try told(until: 15 * 24 + 4, "Sandbox").findings(at: 480).isEmpty)
  }

  @Test func `a silent app is one finding, and not one for each type`() throws {
    let found = try told(every: 12, until: 15 * 24, renewals: 15 * 24).findings(at: 480)
    #expect(found.count == 1 && found.first?.what.contains("the last one 5 days ago") == true)
  }

  /// After an outage some types come before others.
  @Test func `the silence of the app is not counted as a type's`() throws {
    let told = try told(every: 12, until: 16 * 24, renewals: 16 * 24)
    try told.tell("DID_RENEW", at: 480)
    #expect(told.findings(at: 481).isEmpty)
  }

  @Test func `what was imported, recovered or handed over is no arrival`() throws {
    let told = try Told()
    for (hour, arrival) in [EventArrival.import, .history, .asked, .submitted].enumerated() {
      try told.tell("DID_RENEW", at: hour, arriving: arrival)
    }
    #expect(
      told.findings(at: 4).map(\.what) == ["com.example.app: Apple has never posted a notification"]
    )
    try told.tell("TEST", at: 5)
    #expect(told.findings(at: 6).isEmpty)
  }

  @Test func `neither TEST nor what Apple was asked for ends a silence`() throws {
    let told = try Told()
    for hour in 0..<24 { try told.tell("DID_RENEW", at: hour) }
    try told.tell("TEST", at: 90)
    try told.tell("DID_RENEW", at: 91, arriving: .history)
    let found = told.findings(at: 92)
    #expect(found.count == 1 && found.first?.what.contains("the last one 2 days ago") == true)
  }
}
