import Foundation
import Support
import Testing

/// All requests wait for the writer, so the other threads run at a lower priority.
@Suite struct NicenessTests {
  @Test func `reactors run at a lower priority than the writer`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let tasks = "/proc/\(daemon.command.id)/task"
    // A thread sets its priority when it runs for the first time.
    try daemon.command.wait(60, "the priorities of the threads") {
      let niceness = try self.niceness(of: tasks)
      guard let writer = niceness["writer"] else { return false }
      return niceness["http-0"] == max(writer, 5) && niceness["delivery"] == max(writer, 15)
    }
    try daemon.stop()
  }

  /// The niceness of each thread, by its name.
  private func niceness(of tasks: String) throws -> [String: Int] {
    var niceness: [String: Int] = [:]
    for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
      // Field 19, counted after the name in brackets (proc_pid_stat(5)).
      let stat = try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)
      let fields = (stat.split(separator: ")").last ?? "").split(separator: " ")
      let name = stat.split(separator: "(")[1].prefix { $0 != ")" }
      niceness[String(name)] = Int(fields[16])
    }
    return niceness
  }
}
