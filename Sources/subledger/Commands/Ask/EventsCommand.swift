import AppStore
import Clients
import Glibc
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `events`: the journal in the order of `seq`, filtered.
enum EventsCommand {
  static let flags: [Command.Flag] = [
    .init("--type", "TYPE", "notification type, such as DID_RENEW"),
    .init("--subtype", "SUBTYPE", "subtype, such as BILLING_RECOVERY"),
    .init("--source", "LIST", "what told it, as v2,v1, receipt, or catalog for your mappings"),
    .init("--environment", "E", "Production or Sandbox; both by default"),
    .init("--bundle-id", "ID", "one app"), .init("--otid", "OTID", "one original transaction id"),
    .init("--since", "T", "received at T or later, the time that is printed"),
    .init("--until", "T", "received before T"),
    .init("--after", "SEQ", "begin after this seq"),
    .init("--limit", "N", "at most N events"),
    .init("--follow", "wait for new events until ^C"), .json,
  ]

  /// Events that are read at once.
  private static let pageSize: Int64 = 500

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let filter = try filter(arguments)
    var remaining = try arguments.number("--limit", 1...1_000_000_000) ?? .max
    var last = try arguments.number("--after", 0...Int64.max) ?? 0
    let folder = try arguments.readableFolder()
    let isUnknown = try tellUnknown(filter, JournalReader.open(folder))
    let cancellation = Cancellation()
    let interruption = Interruption.started(cancellation)
    var table = QueryTable(["seq", "received", "type", "environment", "original transaction id"])
    var hasPrinted = false
    var end: Int64 = 0
    while !interruption.isRequested {
      // Opened for each page, because a daemon may have been started on the folder meanwhile.
      let journal = try JournalReader.open(folder)
      // First: what is read then reaches as far at least.
      let head = try journal.head()
      let page = try journal.events(
        matching: filter, after: last, limit: Int(min(remaining, pageSize)))
      guard head.seq >= end else {
        throw .unavailable(
          "the journal was replaced by one that ends at seq \(head.seq), before \(end)")
      }
      end = head.seq
      print(page, &table, arguments)
      hasPrinted = hasPrinted || !page.isEmpty
      last = page.last?.seq ?? last
      remaining -= Int64(page.count)
      guard remaining > 0 else { break }
      guard page.isEmpty else { continue }
      guard arguments.has("--follow") else {
        if !hasPrinted, !isUnknown { Terminal.error("subledger events: no event matches") }
        break
      }
      last = max(last, head.seq)
      waitForEvent(filter, after: head, folder, cancellation)
    }
    return interruption.isRequested ? .interrupted : .good
  }

  /// Waits for an event: asks a daemon that runs for its feed, else looks again soon.
  private static func waitForEvent(
    _ filter: EventFilter, after head: Head, _ folder: DataFolder, _ cancellation: Cancellation
  ) {
    let sources = filter.sources.map(\.rawValue)
    let wanted: [(name: String, value: String?)] = [
      ("after", Feed.cursor(head.seq, head.hash)), ("wait", "30"), ("limit", "1"),
      ("type", filter.notificationTypes.first), ("subtype", filter.subtype),
      ("source", sources.isEmpty ? nil : sources.joined(separator: ",")),
      ("environment", filter.environment?.rawValue), ("bundle_id", filter.bundleId),
      ("original_transaction_id", filter.originalTransactionId),
    ]
    let query = wanted.compactMap { (name, value) in
      value.map { "\(name)=\(ServiceURL.encoded($0))" }
    }
    let daemon = ControlClient(folder)
    daemon?.cancellation = cancellation
    let answer = try? daemon?.get("/control/events?" + query.joined(separator: "&"))
    // Rows are behind the journal for a moment, and the daemon may be of another version.
    if answer?.status != 200 { cancellation.wait(milliseconds: 250) }
  }

  private static func filter(_ arguments: Arguments) throws(LedgerError) -> EventFilter {
    var filter = EventFilter()
    filter.notificationTypes = arguments["--type"].map { [$0] } ?? []
    filter.subtype = arguments["--subtype"]
    filter.sources = try sources(arguments)
    filter.environment = try arguments.environment()
    filter.bundleId = arguments["--bundle-id"]
    filter.originalTransactionId = arguments["--otid"]
    let since = try arguments.time("--since")
    let until = try arguments.time("--until")
    if since != nil || until != nil {
      let (first, end) = (since ?? 0, until ?? .max)
      guard first < end else { throw .usage("--until must be later than --since") }
      filter.received = first...(end - 1)
    }
    return filter
  }

  private static func sources(_ arguments: Arguments) throws(LedgerError) -> [EventSource] {
    let all = EventSource.all.map(\.rawValue)
    return try (arguments["--source"]?.split(separator: ",") ?? [])
      .map { (name) throws(LedgerError) in
        guard all.contains(String(name)) else {
          throw .usage("--source takes any of \(all.joined(separator: ","))")
        }
        return EventSource(rawValue: String(name))
      }
  }

  private static func print(
    _ page: [StoredEvent], _ table: inout QueryTable, _ arguments: Arguments
  ) {
    guard !arguments.has("--json") else {
      return page.forEach { Terminal.print(Feed.event.json($0)) }
    }
    for event in page {
      let type = [event.notificationType, event.subtype].compactMap { $0 }.joined(separator: "/")
      table.addOrPrint([
        .integer(event.seq), .text(Timestamp.text(event.receivedAt)), .text(type),
        .text(event.environment.rawValue), .text(event.originalTransactionId ?? "–"),
      ])
    }
    if !page.isEmpty { table.print() }
  }

  /// Tells on standard error of a type that no event has and that is not known, because nothing
  /// would be printed then.
  ///
  /// - Returns: whether it told.
  private static func tellUnknown(
    _ filter: EventFilter, _ journal: JournalReader
  ) throws(LedgerError) -> Bool {
    guard let type = filter.notificationTypes.first, !TypeDescriptions.types.contains(type) else {
      return false
    }
    var only = EventFilter()
    only.notificationTypes = [type]
    guard try journal.events(matching: only, after: 0, limit: 1).isEmpty else { return false }
    let suggestion = Suggestion.text(for: type, among: TypeDescriptions.types)
    Terminal.error("subledger events: no event has the type '\(type)'\(suggestion)")
    return true
  }
}
