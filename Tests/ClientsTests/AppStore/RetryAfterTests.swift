import Testing

@testable import Clients

/// Every form of Retry-After.
@Suite struct RetryAfterTests {
  private static let now: Int64 = 1_790_000_000_000

  @Test(
    arguments: [
      ("1790000005000", 5_000), ("1790000005", 5_000), ("7", 7_000), ("0", 1_000),
      ("3600", 3_600_000), ("999999", 3_600_000),
      // The date of now is Mon, 21 Sep 2026 14:13:20 GMT.
      ("Mon, 21 Sep 2026 14:13:50 GMT", 30_000), ("Monday, 21-Sep-26 14:13:50 GMT", 30_000),
      // In the past, and far in the future.
      ("1789999999000", 1_000), ("1000000000001", 1_000), ("Sun, 06 Nov 1994 08:49:37 GMT", 1_000),
      ("9223372036854775807", 3_600_000), ("1000000000000", 3_600_000),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600_000), ("1000000000", 1_000),
      // Garbage.
      ("", 60_000), ("soon", 60_000), ("-5", 60_000), ("1.5", 60_000), ("1e3", 60_000),
      ("99999999999999999999", 60_000), ("5000000", 60_000), ("５", 60_000), ("7 8", 60_000),
    ] as [(String, Int64)]) func `every form gives a wait within the bounds`(
      field: String, milliseconds: Int64
    )
  {
    let wait = RetryAfter.milliseconds(field, date: nil, now: Self.now, attempt: 1)
    #expect(wait == milliseconds)
  }

  @Test func `an absent field doubles the wait at each attempt`() {
    let waits = [1, 2, 3, 6, 7, 60].map {
      RetryAfter.milliseconds(nil, date: nil, now: Self.now, attempt: $0)
    }
    #expect(waits == [60_000, 120_000, 240_000, 1_920_000, 3_600_000, 3_600_000])
  }

  @Test func `the wait is counted from the server's clock`() {
    let date = "Mon, 21 Sep 2026 14:03:20 GMT"
    let wait = RetryAfter.milliseconds(
      "1789999405000", date: date, now: Self.now, attempt: 1)
    #expect(wait == 5_000, "ten minutes behind ours")
    #expect(
      RetryAfter.milliseconds("1790000005000", date: "garbage", now: Self.now, attempt: 1) == 5_000)
  }
}
