import Foundation
import Support
import Testing

/// `demo`, as `make run` starts it.
@Suite struct DemoTests {
  /// Runs it until it can be tried, and ends it as ^C does.
  private func run(_ folder: URL, _ installation: Installation) throws -> CommandResult {
    let running = try installation.launch(["demo", "--data", folder.path])
    try running.wait(60, "the demo") {
      !running.isRunning || running.outputSoFar().contains("^C stops it")
    }
    running.signal(SIGINT)
    return try running.finish()
  }

  @Test func `an outage of three days is told in five lines and recovered, in each run`() throws {
    let installation = try Installation()
    let folder = installation.folder.appending(path: "demo")
    for number in 1...2 {
      let finished = try run(folder, installation)
      #expect(finished.code == 0, "\(finished)")
      let lines = finished.output.split(separator: "\n")
      let first = try #require(lines.firstIndex { $0.hasPrefix("An outage: ") })
      let told = lines[first..<(lines.firstIndex { $0.hasPrefix("One customer") } ?? first)]
      #expect(told.count == 5, "\(told)")
      let counts = try #require(
        finished.output.firstMatch(of: /has recovered (\d+) of the (\d+) notifications/))
      #expect(counts.1 == counts.2 && Int(counts.1) ?? 0 > 60, "run \(number): \(counts.0)")
      #expect(!finished.errors.contains(#""level""#), "\(finished.errors)")
    }
    let config = folder.appending(path: "config.json").path
    #expect(try installation.launch(["verify", "--config", config]).finish().code == 0)
  }
}
