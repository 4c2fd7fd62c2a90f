package import Foundation

/// A wall clock that can be set while a program runs.
package struct AdjustableClock: Sendable {
  package let file: URL

  package init(file: URL) { self.file = file }

  /// Sets it to the machine's clock plus this many milliseconds.
  package func set(aheadBy milliseconds: Int64) throws {
    let handle = try FileHandle(forWritingTo: file)
    try handle.write(contentsOf: withUnsafeBytes(of: milliseconds) { Data($0) })
    try handle.close()
  }
}

extension Installation {
  /// Gives a clock to the programs that are launched from now on.
  package func adjustClock() throws -> AdjustableClock {
    let clock = AdjustableClock(file: folder.appending(path: "clock"))
    try Data(count: 8).write(to: clock.file)
    environment = [
      "LD_PRELOAD": RunningCommand.built.appending(path: "libRecordedDisk.so").path,
      "RECORDED_DISK_CLOCK": clock.file.path,
    ]
    return clock
  }
}
