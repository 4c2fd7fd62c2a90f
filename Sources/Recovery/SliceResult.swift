import Clients
import Ledger
import Store
import StrictJSON

/// What came of asking for a slice, or for several.
struct SliceResult: Sendable, Equatable {
  /// Notifications that Apple listed, each once.
  var listed: Int64 = 0
  /// Those that the journal did not have.
  var recovered: Int64 = 0
  /// Of those, the ones that Apple believes delivered: how many, and their first seqs.
  var delivered: Int64 = 0
  var deliveredSeqs: [Int64] = []
  /// Those recovered that Apple delivered elsewhere before an import brought what they say.
  var beforeImport: Int64 = 0
  /// Those that the journal has, and of which Apple believes that every attempt failed.
  var answeredLate: Int64 = 0
  /// Those with the UUID of an event with other content.
  var conflicts: Int64 = 0
  /// What was not taken, by the code of the refusal.
  var refused: [String: Int64] = [:]
  var timeline = AttemptTimeline()
  /// The seqs of what was listed.
  var seqs: [ClosedRange<Int64>] = []
  /// Apple has nothing before this time, although the slice begins earlier; milliseconds.
  var goneBefore: Int64?

  static let mostSeqs = 20

  /// Counts a notification that was listed.
  ///
  /// - Parameters:
  ///   - isNew: whether the journal did not have it before the recovery began.
  ///   - importedAt: when the import came that the journal knows its customer from; nil for none.
  mutating func count(
    _ item: SentNotification, _ outcome: Outcome, isNew: Bool, importedAt: Int64? = nil
  ) {
    listed += 1
    for attempt in item.sendAttempts { timeline.add(attempt.result, at: attempt.date) }
    let deliveredAt = item.deliveredAt
    switch outcome {
    case .accepted(let seq), .duplicate(let seq):
      guard isNew else {
        if deliveredAt == nil && !item.sendAttempts.isEmpty { answeredLate += 1 }
        return
      }
      recovered += 1
      guard let deliveredAt else { return }
      if let importedAt, deliveredAt < importedAt {
        beforeImport += 1
        return
      }
      delivered += 1
      if seq > 0, deliveredSeqs.count < Self.mostSeqs { deliveredSeqs.append(seq) }
    case .conflict: conflicts += 1
    // Evidence alone is confirmed, and a history has none.
    default: refused[outcome.refusal?.code ?? outcome.name, default: 0] += 1
    }
  }

  mutating func merge(_ other: SliceResult) {
    listed += other.listed
    recovered += other.recovered
    delivered += other.delivered
    deliveredSeqs = Array((deliveredSeqs + other.deliveredSeqs).prefix(Self.mostSeqs))
    beforeImport += other.beforeImport
    answeredLate += other.answeredLate
    conflicts += other.conflicts
    refused.merge(other.refused, uniquingKeysWith: +)
    timeline.merge(other.timeline)
    goneBefore = [goneBefore, other.goneBefore].compactMap { $0 }.max()
  }

  // MARK: Stored form

  var members: [(String, JSONValue)] {
    [
      ("listed", .integer(listed)), ("recovered", .integer(recovered)),
      ("delivered", .integer(delivered)),
      ("delivered_seqs", .array(deliveredSeqs.map(JSONValue.integer))),
      ("before_import", .integer(beforeImport)),
      ("answered_late", .integer(answeredLate)), ("conflicts", .integer(conflicts)),
      (
        "refused", .object(refused.sorted { $0.key < $1.key }.map { ($0.key, .integer($0.value)) })
      ),
      ("attempts", timeline.json),
      (
        "seqs",
        .array(seqs.flatMap { [.integer($0.lowerBound), .integer($0.upperBound)] })
      ),
      ("gone_before", .optional(goneBefore)),
    ]
  }

  init() {}

  /// Nil for anything that `members` did not make.
  init?(_ root: JSONElement) {
    func number(_ name: String) -> Int64? { root[name]?.integer }
    guard let listed = number("listed"), let recovered = number("recovered"),
      let delivered = number("delivered"), let answeredLate = number("answered_late"),
      let conflicts = number("conflicts"), let timeline = AttemptTimeline(root["attempts"]),
      let bounds = root["seqs"]?.elements.compactMap(\.integer), bounds.count % 2 == 0
    else { return nil }
    (self.listed, self.recovered, self.delivered) = (listed, recovered, delivered)
    (self.answeredLate, self.conflicts, self.timeline) = (answeredLate, conflicts, timeline)
    deliveredSeqs = root["delivered_seqs"]?.elements.compactMap(\.integer) ?? []
    for (code, count) in root["refused"]?.members ?? [] { refused[code] = count.integer ?? 0 }
    goneBefore = number("gone_before")
    beforeImport = number("before_import") ?? 0
    for index in stride(from: 0, to: bounds.count, by: 2) {
      guard bounds[index] <= bounds[index + 1] else { return nil }
      seqs.append(bounds[index]...bounds[index + 1])
    }
  }
}

extension SentNotification {
  /// When Apple first had the answer that the notification was received, in milliseconds since
  /// 1970; nil if it never had.
  var deliveredAt: Int64? {
    sendAttempts.filter { $0.result == AttemptTimeline.success }.map(\.date).min()
  }
}
