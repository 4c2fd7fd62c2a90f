import Encoding
import Glibc
import JournalStore
import LedgerEngine
import Platform
import StrictJSON

enum EventsCommand {
  static let flags: [Command.Flag] = [
    .init("--type", "TYPE", "notification type, such as DID_RENEW"),
    .init("--subtype", "SUBTYPE", "subtype, such as BILLING_RECOVERY"),
    .init("--environment", "E", "Production or Sandbox; both by default"),
    .init("--bundle-id", "ID", "one app"), .init("--otid", "OTID", "one original transaction id"),
    .init("--since", "T", "received at T or later"), .init("--until", "T", "received before T"),
    .init("--after", "SEQ", "begin behind this seq"),
    .init("--limit", "N", "so many at most"),
    .init("--follow", "wait for further events until ^C"), .json,
  ]

  private static let pieceSize: Int64 = 500

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    try words.none()
    let filter = try filter(words)
    var left = try words.number("--limit", 1...1_000_000_000) ?? .max
    var last = try words.number("--after", 0...Int64.max) ?? 0
    let folder = words.folder(try words.configuration())
    let interruption = Interruption()
    interruption.watch()
    while !interruption.isRequested {
      let piece = try CommandError.store { () throws(StoreError) in
        // Opened anew for each piece: a folder at rest may have been started meanwhile.
        try JournalReader.open(folder).events(
          matching: filter, after: last, limit: Int(min(left, pieceSize)))
      }
      for event in piece {
        Terminal.print(words.has("--json") ? json(event).text : text(event))
        last = event.seq
      }
      left -= Int64(piece.count)
      guard left > 0 else { break }
      guard piece.isEmpty else { continue }
      guard words.has("--follow") else { break }
      usleep(250_000)
    }
    return .good
  }

  private static func filter(_ words: Arguments) throws(CommandError) -> EventFilter {
    var filter = EventFilter()
    filter.notificationType = words["--type"]
    filter.subtype = words["--subtype"]
    filter.environment = try words.environment()
    filter.bundleId = words["--bundle-id"]
    filter.originalTransactionId = words["--otid"]
    let since = try words.time("--since")
    let until = try words.time("--until")
    if since != nil || until != nil {
      let (first, end) = (since ?? 0, until ?? .max)
      guard first < end else { throw .usage("--until must be later than --since") }
      filter.received = first...(end - 1)
    }
    return filter
  }

  private static func json(_ event: StoredEvent) -> JSONValue {
    .object([
      ("object", .string("event")), ("seq", .integer(event.seq)),
      ("notification_uuid", .string(event.notificationUUID)), ("source", .string(event.source)),
      ("environment", .string(event.environment)), ("bundle_id", .string(event.bundleId)),
      ("notification_type", .string(event.notificationType)), ("subtype", .optional(event.subtype)),
      ("original_transaction_id", .optional(event.originalTransactionId)),
      ("signed_date", .integer(event.signedDate)), ("received_at", .integer(event.receivedAt)),
      ("body_sha256", .string(Hexadecimal.encode(event.bodySHA256))),
      ("hash", .string(Hexadecimal.encode(event.hash))),
    ])
  }

  private static func text(_ event: StoredEvent) -> String {
    let type = [event.notificationType, event.subtype].compactMap { $0 }.joined(separator: "/")
    return "\(event.seq)".padded(to: 9) + Timestamp.text(event.signedDate).padded(to: 26)
      + type.padded(to: 46) + event.environment.padded(to: 12)
      + (event.originalTransactionId ?? "–")
  }
}
