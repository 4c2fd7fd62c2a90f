import Glibc
import Platform
import Store
import StrictJSON

/// One run of `subledger rebuild` over the whole journal.
struct RebuildRun {
  /// The number that the command reports.
  let events: Int64
  let seconds: Double
  /// The processor time of all its threads.
  let processorSeconds: Double
  /// The peak of the resident bytes.
  let peakBytes: Int64

  /// Removes what is not live: it must not count among the bytes that an event needs.
  static func removeOthers(in run: RunFolder) throws(BenchError) {
    let folder = DataFolder(path: run.data)
    do throws(LedgerError) {
      for name in try ProjectionList.read(folder).names.dropFirst() {
        try ProjectionFile.remove(folder.projection(named: name))
      }
      try ProjectionFile.remove(folder.buildingProjection)
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  /// - Throws: `BenchError.unmeasurable` if the command fails.
  static func measure(in run: RunFolder) throws(BenchError) -> RebuildRun {
    let start = Clock.monotonicNanoseconds()
    let output = run.path + "/rebuild"
    let process = try ChildProcess.start(
      arguments(run), output: output, errors: run.path + "/errors")
    // Read while it runs: the peak that the kernel reports for an ended process includes pages of
    // the process that started it.
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

  /// The command line of a rebuild.
  static func arguments(_ run: RunFolder) -> [String] {
    [run.subledger, "rebuild", "--json", "--config", run.configuration]
  }

  private static func events(in output: String) throws(BenchError) -> Int64? {
    let text = try ProcessUsage.text(output)
    return (try? JSONDocument(parsing: Array(text.utf8)))?.root["events"]?.integer
  }

  /// Processor seconds of one thread that reads every event in the order of seq and decompresses
  /// its body.
  ///
  /// - Throws: `BenchError.unmeasurable` if the journal cannot be read.
  static func bareSeconds(_ run: RunFolder) throws(BenchError) -> Double {
    do throws(LedgerError) {
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
