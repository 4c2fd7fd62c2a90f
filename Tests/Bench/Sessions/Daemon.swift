import Glibc
import Platform
import StrictJSON

/// The measured daemon, in its own process.
struct Daemon: ~Copyable {
  let port: UInt16
  /// Seconds from its start until it accepts notifications and answers reads.
  let secondsToReady: Double
  let usage: ProcessUsage
  private let process: ChildProcess

  /// Nanoseconds until a start counts as failed.
  private static let startTimeout: Int64 = 120_000_000_000

  /// Starts `subledger serve` and waits until it is ready.
  ///
  /// - Parameter processor: the number of the only one it runs on; nil for all of them.
  /// - Throws: `BenchError.unmeasurable` if it ends or is not ready after two minutes.
  static func start(
    _ run: RunFolder, onlyOn processor: Int? = nil
  ) throws(BenchError) -> Daemon {
    let start = Clock.monotonicNanoseconds()
    let log = run.path + "/daemon.log"
    // taskset (of util-linux, which every Debian has) replaces itself with the program it starts.
    let binding = processor.map { ["taskset", "-c", "\($0)"] } ?? []
    let process = try ChildProcess.start(
      binding + [run.subledger, "serve", "--config", run.configuration], output: "/dev/null",
      errors: log)
    while Clock.monotonicNanoseconds() - start < startTimeout {
      if let port = port(in: try ProcessUsage.text(log)), try isReady(port, run) {
        let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
        return Daemon(
          port: port, secondsToReady: seconds, usage: ProcessUsage(pid: process.pid),
          process: process)
      }
      if process.hasEnded { break }
      usleep(1_000)
    }
    let last = try run.lastLine(of: log)
    throw .unmeasurable("the daemon did not get ready; its last line of log: \(last)")
  }

  private init(
    port: UInt16, secondsToReady: Double, usage: ProcessUsage, process: consuming ChildProcess
  ) {
    self.port = port
    self.secondsToReady = secondsToReady
    self.usage = usage
    self.process = process
  }

  private static func port(in log: String) -> UInt16? {
    for line in log.split(separator: "\n") {
      guard let entry = try? JSONDocument(parsing: Array(line.utf8)).root,
        entry["event"]?.string == "listening", let port = entry["port"]?.integer
      else { continue }
      return UInt16(exactly: port)
    }
    return nil
  }

  /// Reads an unknown customer, which is answered 503 until rows can be read, then 404.
  private static func isReady(_ port: UInt16, _ run: RunFolder) throws(BenchError) -> Bool {
    let report = try LoadGenerator.run(
      Reads(["0"]), connections: 1, port: port, marker: "")
    return report.others[404] == 1
  }

  /// Stops it with SIGTERM and waits.
  ///
  /// - Throws: `BenchError.unmeasurable` if its exit code is not 0.
  consuming func stop() throws(BenchError) {
    process.terminate()
    let code = process.wait()
    guard code == 0 else {
      throw .unmeasurable("the daemon ended with \(code.map { "\($0)" } ?? "a signal")")
    }
  }
}
