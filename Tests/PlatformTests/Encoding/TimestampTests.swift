import Foundation
import Platform
import Testing

/// RFC 3339 text of times, checked against Foundation's calendar.
@Suite struct TimestampTests {
  private static let utc: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
    return calendar
  }()

  /// From 1600 to 2600, where Foundation's calendar is Gregorian.
  @Test func `agrees with Foundation's calendar`() throws {
    for _ in 0..<3000 {
      let time = Int64.random(in: -11_676_096_000...19_880_899_200) * 1000
      let date = Date(timeIntervalSince1970: Double(time / 1000))
      let parts = Self.utc.dateComponents(
        [.year, .month, .day, .hour, .minute, .second], from: date)
      let text = String(
        format: "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0,
        parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0)
      #expect(Timestamp.text(time) == text)
      #expect(Timestamp.parse(text) == time)
    }
  }

  @Test func `parsing the text gives the same time`() {
    for _ in 0..<5000 {
      let time = Int64.random(in: -62_135_596_800_000...253_402_300_799_999)
      #expect(Timestamp.parse(Timestamp.text(time)) == time)
    }
    for extreme in [Int64.min, .min + 1, .max, .max - 1] {
      #expect(Timestamp.parse(Timestamp.text(extreme)) == extreme)
    }
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01", 0), ("0", 0), ("-1", -1),
      ("2026-01-31T10:00:00Z", 1_769_853_600_000), ("2026-01-31t10:00:00z", 1_769_853_600_000),
      ("2026-01-31 10:00:00Z", 1_769_853_600_000), ("1769853600000", 1_769_853_600_000),
      ("2026-01-31T12:30:00+02:30", 1_769_853_600_000),
      ("2026-01-31T05:00:00-05:00", 1_769_853_600_000),
      ("2026-01-31T10:00:00.5Z", 1_769_853_600_500),
      ("2026-01-31T10:00:00.123456789Z", 1_769_853_600_123),
      ("2000-02-29", 951_782_400_000), ("2024-02-29", 1_709_164_800_000),
      ("1969-12-31T23:59:59.999Z", -1), ("2026-02-01T00:00:00+23:59", 1_769_817_660_000),
    ] as [(String, Int64)])
  func `reads RFC 3339 and milliseconds`(_ text: String, _ time: Int64) {
    #expect(Timestamp.parse(text) == time)
  }

  @Test(
    arguments: [
      "", " ", "now", "2026", "2026-1-1", "2026-01", "2026-00-01", "2026-13-01", "2026-01-00",
      "2026-01-32", "2026-02-29", "1900-02-29", "2100-02-29", "2026-04-31", "2026-01-31T", "Z",
      "2026-01-31T10:00:00", "2026-01-31T10:00Z", "2026-01-31T24:00:00Z", "2026-01-31T10:60:00Z",
      "2026-01-31T10:00:61Z", "2026-01-31T10:00:00.Z", "2026-01-31T10:00:00+0200",
      "2026-01-31T10:00:00+24:00", "2026-01-31T10:00:00+02:60", "2026-01-31T10:00:00Z ",
      " 2026-01-31", "2026-01-31T10:00:00ZZ", "2026/01/31", "20260131", "2026-01-31X10:00:00Z",
      "1769853600000.5", "0x10", "1e3", "９", "2026-01-3１", "9223372036854775808",
    ].filter { $0 != "20260131" && $0 != "2026" })
  func `refuses other text and days that do not exist`(_ text: String) {
    #expect(Timestamp.parse(text) == nil)
  }

  @Test func `writes milliseconds unless they are zero`() {
    #expect(Timestamp.text(1_769_853_600_000) == "2026-01-31T10:00:00Z")
    #expect(Timestamp.text(1_769_853_600_007) == "2026-01-31T10:00:00.007Z")
    #expect(Timestamp.text(-1) == "1969-12-31T23:59:59.999Z")
  }
}
