import StrictJSON

/// One code of a refusal, with its status: what it means and what to do next.
///
/// The details of problem documents, `help http`, the OpenAPI document, the log's warnings and
/// `doctor` follow from the table of these.
package struct RefusalEntry: Sendable {
  /// Which requests can get it.
  enum Place: Sendable {
    case anywhere, notifications
    /// Transactions and receipts that the app reports.
    case submissions
    /// Both of these.
    case signed
    /// Reads, and what the owner says.
    case others
    /// Only the lines of `subledger ingest`, and other commands beside the daemon.
    case commands
  }

  package let status: Int
  package let code: String
  let place: Place
  /// One sentence.
  package let meaning: String
  /// What to do; empty if the meaning says it.
  package let next: String
  /// Whether a mistake in the owner's configuration can be the cause.
  package let isOwnerFault: Bool

  init(
    _ status: Int, _ code: String, _ place: Place, _ meaning: String, _ next: String = "",
    isOwnerFault: Bool = false
  ) {
    self.status = status
    self.code = code
    self.place = place
    self.meaning = meaning
    self.next = next
    self.isOwnerFault = isOwnerFault
  }

  package var isRetryable: Bool { Self.retryable.contains(status) }

  static let retryable = [503, 408]

  /// Meaning and next step in one text.
  package var detail: String { next.isEmpty ? meaning : "\(meaning) \(next)" }

  /// Whether Apple sends a notification again that got this answer; nil if no notification can.
  package var repeats: String? {
    switch place {
    case .submissions, .others, .commands: nil
    case .anywhere, .notifications, .signed: status >= 500 ? Self.repeated : Self.uncertain
    }
  }

  private static let repeated = "A notification is repeated by Apple."
  private static let uncertain = "A notification may not be repeated by Apple."

  /// What `repeats` stands for.
  package static let repetition =
    "In Production, Apple repeats a notification up to five times in 157 hours after an answer of "
    + "503, in the Sandbox never. After 4xx its documentation says the same, but it was seen not "
    + "to: correct the cause, then subledger recover --since TIME brings back what was refused."

  // MARK: The table

  /// By status, then code.
  private static let all = (request + signed + admission + others)
    .sorted { ($0.status, $0.code) < ($1.status, $1.code) }

  /// Those that a client can get: not those of commands alone.
  package static let documented = all.filter { $0.place != .commands }

  /// Those that a mistake in the owner's configuration can cause, by code.
  static let ownerFaults = all.filter(\.isOwnerFault)

  private static let byCode = Dictionary(grouping: all, by: \.code)

  /// The entry of a code; nil if there is none.
  ///
  /// - Parameter status: nil for the first of a code that has two.
  package static func of(_ code: String, status: Int? = nil) -> RefusalEntry? {
    let entries = byCode[code] ?? []
    if let entry = entries.first(where: { status == nil || $0.status == status }) { return entry }
    guard code.hasPrefix(nestedPrefix), let part = of(String(code.dropFirst(nestedPrefix.count)))
    else { return nil }
    return RefusalEntry(
      401, code, .notifications, "A JWS inside the notification is not proven. \(part.meaning)",
      part.next)
  }

  /// The entry of a code that was counted: notifications and what is handed over are.
  package static func counted(_ code: String) -> RefusalEntry? {
    byCode[code]?.first { $0.place != .others } ?? of(code)
  }

  /// Whether it is of the version of notifications that Apple's history does not have.
  package var isOfVersion1: Bool { code == "v1_secret" }

  /// Begins the code of a nested JWS that is not proven; its own code follows.
  package static let nestedPrefix = "nested_"

  /// The entry as the OpenAPI document has it.
  var json: JSONValue {
    .object([
      ("status", .integer(Int64(status))), ("code", .string(code)),
      ("meaning", .string(meaning)), ("next", .string(next)),
      ("retryable", .boolean(isRetryable)), ("apple", .optional(repeats)),
    ])
  }
}
