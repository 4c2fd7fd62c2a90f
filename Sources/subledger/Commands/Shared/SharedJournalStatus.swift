import Configuration
import JournalStore
import Platform
import PostgresClient
import PostgresJournal
import StrictJSON

/// `shared-journal status`: where the shared journal is, and how far this copy is.
enum SharedJournalStatus {
  static func run(_ arguments: Arguments) throws(CommandError) -> ExitCode {
    let configuration = try arguments.configuration()
    guard let shared = configuration.sharedJournal else {
      throw .usage("the configuration has no \"sharedJournal\"")
    }
    let report = try mapError(
      SharedJournalCommand.failed,
      try ServerReport(shared.settings, by: SharedJournalCommand.soon))
    let copied = copiedSeq(arguments.folder(configuration))
    if arguments.has("--json") {
      Terminal.print(json(shared, report, copied))
    } else {
      for line in text(shared, report, copied) { Terminal.print(line) }
    }
    return .good
  }

  /// The newest event of the copy; nil if there is no copy yet.
  static func copiedSeq(_ folder: DataFolder) -> Int64? {
    guard let reader = try? JournalReader.open(folder) else { return nil }
    defer { reader.close() }
    return try? reader.head().seq
  }

  private static func text(
    _ shared: Configuration.SharedJournal, _ report: ServerReport, _ copied: Int64?
  ) -> [String] {
    var lines = [
      "server        \(shared.address.description), schema \(shared.schema)",
      "encrypted     \(report.isEncrypted ? "yes" : "no")",
      "newest event  seq \(report.seq)",
      "this copy     " + (copied.map { "seq \($0)" } ?? "none yet"),
    ]
    for duty in report.duties {
      lines.append("duty          \(duty.name): \(duty.isHeld ? duty.holder : "nobody")")
    }
    return lines
  }

  private static func json(
    _ shared: Configuration.SharedJournal, _ report: ServerReport, _ copied: Int64?
  ) -> JSONValue {
    .object([
      ("object", .string("shared_journal")), ("server", .string(shared.address.description)),
      ("schema", .string(shared.schema.name)), ("encrypted", .boolean(report.isEncrypted)),
      ("seq", .integer(report.seq)), ("copy_seq", .optional(copied)),
      (
        "duties",
        .array(
          report.duties.map { duty in
            .object([
              ("name", .string(duty.name)),
              ("holder", duty.isHeld ? .string(duty.holder) : .null),
            ])
          })
      ),
    ])
  }
}
