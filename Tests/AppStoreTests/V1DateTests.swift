import Testing

@testable import AppStore

/// The readable form of dates in V1 notifications.
@Suite struct V1DateTests {
  @Test(
    arguments: [
      ("1970-01-01 00:00:00 Etc/GMT", 0), ("2020-04-21 04:11:57 Etc/GMT", 1_587_442_317_000),
      ("2020-02-29 23:59:59 Etc/GMT", 1_583_020_799_000),
      ("2199-12-31 00:00:00 Etc/GMT", 7_258_032_000_000),
    ] as [(String, Int64)])
  func `a date in GMT is read`(_ text: String, _ milliseconds: Int64) {
    #expect(V1Date.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "2020-04-21", "2020-04-21 04:11:57", "2020-04-21T04:11:57Z",
    "2020-04-21 04:11:57 America/Los_Angeles", "2020-04-21 04:11:57 Etc/UTC",
    "2020-04-21 04:11:57 Etc/GMT ", "2020-04-21 04-11-57 Etc/GMT", "2020-4-21 004:11:57 Etc/GMT",
    "+020-04-21 04:11:57 Etc/GMT", "2020-04-21 04:11:5x Etc/GMT",
  ])
  func `other forms and zones are refused`(_ text: String) {
    #expect(V1Date.milliseconds(text) == nil)
  }

  @Test(arguments: [
    "2020-00-21 04:11:57 Etc/GMT", "2020-13-21 04:11:57 Etc/GMT", "2020-04-00 04:11:57 Etc/GMT",
    "2020-04-31 04:11:57 Etc/GMT", "2019-02-29 04:11:57 Etc/GMT", "2100-02-29 04:11:57 Etc/GMT",
    "2020-04-21 24:00:00 Etc/GMT", "2020-04-21 04:60:57 Etc/GMT", "2020-04-21 04:11:60 Etc/GMT",
    "1969-12-31 23:59:59 Etc/GMT", "2200-01-01 00:00:00 Etc/GMT",
  ])
  func `times that do not exist or are out of range are refused`(_ text: String) {
    #expect(V1Date.milliseconds(text) == nil)
  }
}
