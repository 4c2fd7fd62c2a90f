import Foundation
import Support
import Testing

/// Everybody waits for the writer, so nobody gets the processor before it does.
@Suite struct NicenessTests {
  @Test func reactorsStandAside() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let tasks = "/proc/\(daemon.command.id)/task"
    var niceness: [String: Int] = [:]
    for task in try FileManager.default.contentsOfDirectory(atPath: tasks) {
      // After the name, which stands in brackets: field 19 (proc_pid_stat(5)).
      let stat = try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)
      let fields = (stat.split(separator: ")").last ?? "").split(separator: " ")
      let name = stat.split(separator: "(")[1].prefix { $0 != ")" }
      niceness[String(name)] = Int(fields[16])
    }
    let writer = try #require(niceness["writer"])
    #expect(niceness["http-0"] == max(writer, 5) && niceness["overview"] == max(writer, 15))
    try daemon.stop()
  }
}
