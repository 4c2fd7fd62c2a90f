import AppStoreSimulator
import Glibc
import Platform
import Store
import StrictJSON

/// A made journal and the folder of its daemon.
struct MadeLedger {
  let folder: RunFolder
  let events: Int

  /// Bytes of disk for an event: body, indexes and rows, and a second projection while it is built.
  /// Measured, and rounded up.
  private static let bytesPerEvent: Int64 = 1_000
  /// Bytes of disk that must stay free.
  private static let reserve: Int64 = 1_000_000_000

  /// Written when the journal is complete.
  private var completionFile: String { folder.path + "/made.json" }
  private var heading: JSONValue { .object([("events", .integer(Int64(events)))]) }

  /// The ledger with `events` events in a folder; the journal is not made yet.
  ///
  /// - Throws: `BenchError.unmeasurable` if the folder or its configuration cannot be written.
  init(_ events: Int, in parent: RunFolder, _ options: Options) throws(BenchError) {
    self.events = events
    folder = try parent.inner("journal-\(events)")
    try folder.configure(
      parent.path + "/authority", connectionLimit: options.connectionLimit)
  }

  /// The largest number of bytes that it takes on disk.
  var bytes: Int64 { Int64(events) * Self.bytesPerEvent }

  /// - Throws: `BenchError.unmeasurable` if making these ledgers would fill the disk.
  static func requireFreeSpace(
    for ledgers: [MadeLedger], in folder: RunFolder
  ) throws(BenchError) {
    let need = ledgers.reduce(0) { $0 + $1.bytes }
    let free = try Folder.freeSpace(folder.path)
    guard free > need + reserve else {
      throw .unmeasurable(
        "journals of these sizes need \(Decimal.text(Double(need) / 1e9)) GB, and"
          + " \(Decimal.text(Double(reserve) / 1e9)) GB must stay free;"
          + " \(Decimal.text(Double(free) / 1e9)) GB are free: free some, or use fewer --events")
    }
  }

  /// Whether an earlier run completed its journal.
  ///
  /// - Throws: `BenchError.unmeasurable` if the completion file cannot be read.
  func isMade() throws(BenchError) -> Bool {
    guard access(completionFile, F_OK) == 0 else { return false }
    return try ProcessUsage.text(completionFile) == heading.text
  }

  /// Makes the journal. An incomplete one is removed first.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be written.
  func make(_ known: [SimulatedNotification], header: [UInt8]) throws(BenchError) {
    Folder.remove(folder.data)
    Bench.log(
      "making a journal of \(Decimal.text(Double(events))) events, at most"
        + " \(Decimal.text(Double(bytes) / 1e9)) GB on disk")
    try MadeJournal.make(folder.data, events: events, among: known, header: header)
    do throws(LedgerError) {
      try DurableFile.write(Array(heading.text.utf8), to: completionFile)
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  /// Reads from the journal, also while its daemon runs.
  ///
  /// - Throws: `BenchError.unmeasurable` if `body` throws or the journal cannot be opened.
  func read<Result>(
    _ body: (JournalReader) throws(LedgerError) -> Result
  ) throws(BenchError) -> Result {
    do throws(LedgerError) {
      let reader = try JournalReader.open(DataFolder(path: folder.data))
      defer { reader.close() }
      return try body(reader)
    } catch {
      throw .unmeasurable("could not read the journal: \(error)")
    }
  }

  /// The number of events in the journal now.
  ///
  /// - Throws: `BenchError.unmeasurable` if the journal cannot be read.
  func head() throws(BenchError) -> Int64 {
    try read { (reader) throws(LedgerError) in try reader.head().seq }
  }

  /// Original transaction ids of at most `count` events at equal distances in the journal.
  ///
  /// - Throws: `BenchError.unmeasurable` if the journal cannot be read.
  func customers(_ count: Int) throws(BenchError) -> [String] {
    try read { (reader) throws(LedgerError) in
      let head = try reader.head().seq
      var ids: Set<String> = []
      for index in 0..<Int64(count) {
        let seq = head * index / Int64(count)
        if let id = try reader.events(after: seq, limit: 1).first?.originalTransactionId {
          ids.insert(id)
        }
      }
      return ids.sorted()
    }
  }
}
