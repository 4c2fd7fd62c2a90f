import Platform
import Testing

/// The proleptic Gregorian calendar. `TimestampTests` compares it with Foundation's.
@Suite struct CivilTimeTests {
  private static let months: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

  private static func isLeap(_ year: Int64) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// From 200 years before 1970 to 600 after: each era has the same 400 years.
  @Test func `every day follows the one before`() throws {
    let first = try #require(CivilTime(year: 1770, month: 1, day: 1)).milliseconds
    var (year, month, day): (Int64, Int64, Int64) = (1770, 1, 1)
    var wrong: [Int64] = []
    for count in 0..<Int64(800 * 365 + 194) {
      let milliseconds = first + count * CivilTime.day
      let time = CivilTime(milliseconds: milliseconds + 1)
      if (time.year, time.month, time.dayOfMonth, time.millisecondOfDay) != (year, month, day, 1)
        || time.milliseconds != milliseconds + 1
      {
        wrong.append(milliseconds)
      }
      day += 1
      let length = Self.months[Int(month) - 1] + (month == 2 && Self.isLeap(year) ? 1 : 0)
      if day > length { (month, day) = (month + 1, 1) }
      if month > 12 { (year, month) = (year + 1, 1) }
    }
    #expect(wrong.isEmpty)
    #expect(year == 2570 && month == 1 && day == 1)
  }

  @Test(
    arguments: [
      (1970, 1, 1, 0), (1969, 12, 31, -86_400_000), (2000, 2, 29, 951_782_400_000),
      (0, 3, 1, -62_162_035_200_000), (-1, 12, 31, -62_167_305_600_000),
      (1, 1, 1, -62_135_596_800_000), (9999, 12, 31, 253_402_214_400_000),
    ] as [(Int64, Int64, Int64, Int64)])
  func `known days`(_ year: Int64, _ month: Int64, _ day: Int64, _ milliseconds: Int64) {
    #expect(CivilTime(year: year, month: month, day: day)?.milliseconds == milliseconds)
    let time = CivilTime(milliseconds: milliseconds)
    #expect(time == CivilTime(year: year, month: month, day: day))
  }

  @Test func `any number of milliseconds comes back`() {
    for extreme in [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max] {
      #expect(CivilTime(milliseconds: extreme).milliseconds == extreme)
    }
    for _ in 0..<1000 {
      let time = Int64.random(in: .min ... .max)
      #expect(CivilTime(milliseconds: time).milliseconds == time)
    }
  }

  @Test(
    arguments: [
      (2026, 0, 1), (2026, 13, 1), (2026, 1, 0), (2026, 1, 32), (2026, 2, 29), (2024, 2, 30),
      (1900, 2, 29), (2100, 2, 29), (2026, 4, 31), (1_000_001, 1, 1), (-1_000_001, 1, 1),
      (.max, 1, 1), (.min, 1, 1), (2026, .max, 1), (2026, 1, .min),
    ] as [(Int64, Int64, Int64)])
  func `refuses days that do not exist`(_ year: Int64, _ month: Int64, _ day: Int64) {
    #expect(CivilTime(year: year, month: month, day: day) == nil)
  }

  @Test func `refuses a time that is not within a day`() {
    for time in [Int64.min, -1, CivilTime.day, .max] {
      #expect(CivilTime(year: 2026, month: 1, day: 1, millisecondOfDay: time) == nil)
    }
    let last = CivilTime(year: 2026, month: 1, day: 1, millisecondOfDay: CivilTime.day - 1)
    #expect(last?.millisecondOfDay == CivilTime.day - 1)
  }

  /// `LifecycleTests` has later months.
  @Test func `earlier months end where the calendar ends`() throws {
    let start = try #require(CivilTime(year: 2024, month: 3, day: 31, millisecondOfDay: 5))
    let expected: [(Int64, Int64, Int64, Int64)] = [
      (-1, 2024, 2, 29), (-3, 2023, 12, 31), (-13, 2023, 2, 28), (0, 2024, 3, 31),
      (-2024 * 12, 0, 3, 31), (-2024 * 12 - 3, -1, 12, 31),
    ]
    for (months, year, month, day) in expected {
      let time = CivilTime(year: year, month: month, day: day, millisecondOfDay: 5)
      #expect(start.adding(months: months) == time)
    }
  }
}
