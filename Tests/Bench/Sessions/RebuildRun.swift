import Glibc
import JournalStore
import Platform
import StrictJSON

/// One `rebuild` of the whole journal, in a process of its own.
struct RebuildRun {
  /// As the command counts them.
  let events: Int64
  let seconds: Double
  /// Of all its threads.
  let processorSeconds: Double
  /// The most bytes that were ever resident.
  let peakBytes: Int64

  static func measure(in run: RunFolder) throws(BenchError) -> RebuildRun {
    let start = Clock.monotonicNanoseconds()
    let output = run.path + "/rebuild"
    let process = try ChildProcess.start(
      words(run), output: output, errors: run.path + "/errors")
    // Asked while it runs: what the kernel keeps of a process that has ended counts the pages of
    // the one that started it.
    var peak: Int64 = 0
    let usage = ProcessUsage(pid: process.pid)
    while !process.hasEnded {
      peak = max(peak, (try? usage.peakBytes()) ?? 0)
      usleep(2_000)
    }
    let (code, used) = process.end()
    let seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    guard code == 0, let events = try events(in: output) else {
      throw .unmeasurable("rebuild failed: \(try run.lastLine(of: run.path + "/errors"))")
    }
    return RebuildRun(events: events, seconds: seconds, processorSeconds: used, peakBytes: peak)
  }

  static func words(_ run: RunFolder) -> [String] {
    [run.subledger, "rebuild", "--json", "--config", run.configuration]
  }

  private static func events(in output: String) throws(BenchError) -> Int64? {
    let text = try ProcessUsage.text(output)
    return (try? JSONDocument(parsing: Array(text.utf8)))?.root["events"]?.integer
  }

  /// Processor seconds of one thread that reads every row in the order of seq, decompresses its
  /// body, and does nothing else with it.
  static func bareSeconds(_ run: RunFolder) throws(BenchError) -> Double {
    do throws(StoreError) {
      let journal = try JournalReader.open(DataFolder(path: run.data))
      defer { journal.close() }
      let head = try journal.head().seq
      let start = Clock.processNanoseconds()
      try journal.forEachPayload(from: 1, through: head) { _, _, payload in
        payload.content != .unreadable
      }
      return Double(Clock.processNanoseconds() - start) / 1e9
    } catch {
      throw .unmeasurable("could not read the journal: \(error)")
    }
  }
}
