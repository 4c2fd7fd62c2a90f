import Ledger
import Testing

/// When the log says that the disk is full.
@Suite struct DiskAlarmTests {
  private static let second: Int64 = 1_000_000_000

  @Test func `it begins once, is repeated each minute, and ends once`() {
    var alarm = DiskAlarm()
    var lines: [(Int64, DiskAlarm.Line)] = []
    // A notification each second is refused for three minutes; then there is room.
    for second in Int64(0)..<240 {
      let now = second * Self.second
      var line: DiskAlarm.Line?
      if second < 180 {
        line = alarm.recordFull(refusing: 2, at: now)
      } else {
        alarm.recordRoom()
      }
      if let line { lines.append((second, line)) }
      if let line = alarm.look(at: now).line { lines.append((second, line)) }
    }
    #expect(lines.map(\.0) == [0, 60, 120, 180, 189])
    #expect(
      lines.map(\.1) == [
        .began, .lasts(refused: 122, seconds: 60), .lasts(refused: 242, seconds: 120),
        .lasts(refused: 360, seconds: 180), .ended(refused: 360, seconds: 189),
      ])
    #expect(!alarm.isOn)
  }

  /// A small notification finds room where the next does not.
  @Test func `room now and then does not end it`() {
    var alarm = DiskAlarm()
    var began = 0
    for second in Int64(0)..<50 {
      let now = second * Self.second
      if alarm.recordFull(refusing: 1, at: now) == .began { began += 1 }
      alarm.recordRoom()
      #expect(alarm.look(at: now).line == nil && alarm.isOn)
    }
    #expect(began == 1)
  }

  @Test func `without notifications the disk is tried every ten seconds`() {
    var alarm = DiskAlarm()
    #expect(alarm.look(at: 0) == (nil, false))
    _ = alarm.recordFull(refusing: 1, at: 0)
    let wanted = (Int64(0)..<35).filter { alarm.look(at: $0 * Self.second).wantsProbe }
    #expect(wanted == [10, 20, 30])
    // As the caller does where the disk took what was written to try it.
    alarm.recordRoom()
    #expect(alarm.look(at: 35 * Self.second).line == .ended(refused: 1, seconds: 35))
    #expect(alarm.recordFull(refusing: 1, at: 36 * Self.second) == .began)
  }
}
