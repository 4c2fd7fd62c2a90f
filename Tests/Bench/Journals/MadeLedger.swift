import Glibc
import JournalStore
import Platform
import Simulator
import StrictJSON

/// A made journal and the folder of its daemon.
struct MadeLedger {
  let folder: RunFolder
  let events: Int

  /// Bytes of disk for an event: body, indexes and rows, and the rows once more while they are
  /// built anew. Measured, and rounded up.
  private static let bytesPerEvent: Int64 = 1_000
  /// Stays free.
  private static let spare: Int64 = 1_000_000_000

  private var mark: String { folder.path + "/made.json" }
  private var heading: JSONValue { .object([("events", .integer(Int64(events)))]) }

  /// Its place in a folder.
  init(_ events: Int, in parent: RunFolder, places: Int) throws(BenchError) {
    self.events = events
    folder = try parent.inner("journal-\(events)")
    try folder.configure(parent.path + "/authority", places: places)
  }

  /// Bytes of disk that it may take.
  var bytes: Int64 { Int64(events) * Self.bytesPerEvent }

  /// Nothing is begun that would fill the disk.
  static func requireRoom(for worlds: [MadeLedger], in folder: RunFolder) throws(BenchError) {
    let need = worlds.reduce(0) { $0 + $1.bytes }
    let room = try Folder.room(folder.path)
    guard room > need + spare else {
      throw .unmeasurable(
        "journals of these sizes need \(Decimal.text(Double(need) / 1e9)) GB, and"
          + " \(Decimal.text(Double(spare) / 1e9)) GB must stay;"
          + " \(Decimal.text(Double(room) / 1e9)) GB are free: make room, or fewer --events")
    }
  }

  /// Whether an earlier run made it.
  func isMade() throws(BenchError) -> Bool {
    guard access(mark, F_OK) == 0 else { return false }
    return try ProcessUsage.text(mark) == heading.text
  }

  /// Makes it; one that was begun and not finished is removed first.
  func make(_ known: [SimulatedNotification], header: [UInt8]) throws(BenchError) {
    Folder.remove(folder.data)
    Bench.say(
      "making a journal of \(Decimal.text(Double(events))) events, at most"
        + " \(Decimal.text(Double(bytes) / 1e9)) GB on disk")
    try MadeJournal.make(folder.data, events: events, among: known, header: header)
    do throws(PlatformError) {
      try DurableFile.write(Array(heading.text.utf8), to: mark)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  /// What a look into the journal gives, also beside its daemon.
  func read<Result>(
    _ body: (JournalReader) throws(StoreError) -> Result
  ) throws(BenchError) -> Result {
    do throws(StoreError) {
      let reader = try JournalReader.open(DataFolder(path: folder.data))
      defer { reader.close() }
      return try body(reader)
    } catch {
      throw .unmeasurable("could not read the journal: \(error)")
    }
  }

  /// Events in it now.
  func head() throws(BenchError) -> Int64 {
    try read { (reader) throws(StoreError) in try reader.head().seq }
  }

  /// Customers that lie so many apart, evenly over the whole journal.
  func customers(_ count: Int) throws(BenchError) -> [String] {
    try read { (reader) throws(StoreError) in
      let head = try reader.head().seq
      var ids: Set<String> = []
      for place in 0..<Int64(count) {
        let seq = head * place / Int64(count)
        if let id = try reader.events(after: seq, limit: 1).first?.originalTransactionId {
          ids.insert(id)
        }
      }
      return ids.sorted()
    }
  }
}
