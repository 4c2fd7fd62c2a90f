public import AppStore
import Entitlements
public import Platform
import Store

extension LedgerReader {
  /// Quarantined notifications that a timeline shows at most: any developer's genuine notification
  /// may name this customer.
  private static let maximumQuarantined = 100

  /// The timeline of an original transaction id; nil if there is none that may be shown.
  ///
  /// - Parameters:
  ///   - isRaw: whether each entry has the decoded notification.
  ///   - page: which events; nil for all. Every page costs as much as all events before its end.
  /// - Throws: `LedgerError.ambiguous` if several apps have the id and the question names neither;
  ///   what SQLite reports.
  public func history(
    _ originalTransactionId: String, environment: Environment?, bundleId: String?,
    _ question: Question, isRaw: Bool = false, page: History.Page? = nil
  ) throws(LedgerError) -> History? {
    // One state of the file for the whole answer, so that a notification which is admitted
    // meanwhile is not shown twice.
    try journal.beginSnapshot()
    defer { journal.endSnapshot() }
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    let known = try Self.only(keys)
    let (quarantined, hasMore) = try quarantined(
      about: originalTransactionId, environment, bundleId, question, isRaw: isRaw)
    guard let key = known ?? quarantined.first?.key(originalTransactionId) else { return nil }
    var others = quarantined.sorted { ($0.receivedAt, $0.id) < ($1.receivedAt, $1.id) }
      .map(History.Item.quarantined)
    guard known != nil else {
      return History(
        key, [], others, hasMoreQuarantined: hasMore,
        confirmedAt: try confirmedAt(key, question))
    }
    let evolution = try evolution(of: key, question, isRaw: isRaw, page)
    let last = evolution.hasMore ? evolution.lastEvent : nil
    others += try changes(ofNamesGivenBy: evolution.products, of: key, question)
      .filter { [seq = evolution.firstSeq] in $0.seq > seq }.map(History.Item.mapping)
    others = try others.sorted { $0.time < $1.time }
      .filter(isShown(after: page?.after ?? 0, before: last))
    return History(
      key, evolution.items, others, next: last?.seq,
      hasMoreQuarantined: hasMore, confirmedAt: try confirmedAt(key, question))
  }

  /// Whether what is no event of the stream belongs to a page: it came after the last event of the
  /// page before, and before the last one of this page, unless no other follows.
  private func isShown(
    after seq: Int64, before last: StoredEvent?
  ) throws(LedgerError) -> (History.Item) -> Bool {
    let start =
      seq == 0 ? nil : try journal.receivedAt(of: seq)
    return { $0.time >= start ?? .min && $0.time < last?.receivedAt ?? .max }
  }

  private func evolution(
    of key: StreamKey, _ question: Question, isRaw: Bool, _ page: History.Page?
  ) throws(LedgerError) -> HistoryEvolution {
    let replacements = try replacements(of: key, question)
    var evolution = HistoryEvolution(
      key, by: journal.fold, durations(question)[key], receipts, replacements, page: page)
    let known = question.knownAt ?? .max
    // How many had come by a time between the first and the last is not stored.
    let redeliveries = try journal.redeliveries(of: key).filter { $0.value.lastAt <= known }
    let arrivals = try journal.arrivals(of: key)
    try journal.forEachEvent(
      of: key, signedThrough: question.asOf ?? .max, receivedThrough: known
    ) { (event, payload) throws(LedgerError) in
      try limit?.check()
      evolution.add(
        event, payload, arrivals[event.seq] ?? .posted, redeliveries[event.seq], isRaw: isRaw)
    }
    evolution.advance(to: question.time)
    evolution.tellRules()
    return evolution
  }

  /// The quarantined notifications, of any app, that name the id and may be shown.
  private func quarantined(
    about originalTransactionId: String, _ environment: Environment?, _ bundleId: String?,
    _ question: Question, isRaw: Bool
  ) throws(LedgerError) -> ([QuarantinedEntry], hasMore: Bool) {
    let limit = Self.maximumQuarantined
    let found = try journal.quarantined(
      about: originalTransactionId, environment: environment, bodies: isRaw, limit: limit + 1)
    let shown = found.map { QuarantinedEntry($0, isRaw: isRaw) }.filter { entry in
      (bundleId.map { $0 == entry.bundleId ?? $0 } ?? true)
        && entry.receivedAt <= question.knownAt ?? .max
        && entry.signedDate ?? entry.receivedAt <= question.asOf ?? .max
        && question.covers(entry.key(originalTransactionId))
    }
    // Counted after the filter: only who may see all of them is told that there are more.
    return (Array(shown.prefix(limit)), shown.count > limit)
  }
}
