import AppStore
public import Entitlements
import Platform
package import Store
import Synchronization

extension Fold {
  /// Computed when it is first needed (`FoldFingerprint`).
  public var fingerprint: String { FoldFingerprint.value(of: self) }

  /// A projection of another fold is read, but never continued.
  package func identity(of journalId: [UInt8]) -> ProjectionIdentity {
    ProjectionIdentity(
      foldVersion: Int(version), fingerprint: fingerprint, journalId: journalId)
  }
}

/// Identifies a fold by its results: a hash of the answers that it gives to a fixed
/// set of generated histories.
///
/// The fold's version number only shows changes that were declared. A changed rule with an
/// unchanged number must not continue the projection of the old rule, so the fingerprint is
/// computed by the running program and is not a constant that could be out of date. The histories
/// are random and know no rule; a change that alters none of their answers is not detected.
///
/// It covers all that decides an answer, by a list of its own: a column that is added to the row is
/// no other fold. How rows and states are stored is identified by `ProjectionFile.schema`.
///
/// Costs about 20 ms of processor time, once per process and fold, when a projection is opened or
/// examined (release build, measured with `subledger version`); every later use reads the stored
/// text.
enum FoldFingerprint {
  private static let known = Mutex<[Fold: String]>([:])

  /// The first 16 bytes of a digest of all answers, in lower-case hexadecimal.
  static func value(of fold: Fold) -> String {
    known.withLock { known in
      if let value = known[fold] { return value }
      let value = computed(fold)
      known[fold] = value
      return value
    }
  }

  private static func computed(_ fold: Fold) -> String {
    var histories = FoldHistories()
    var digest = SetDigest()
    for number in 0..<FoldHistories.count {
      var state = StreamState()
      for event in histories.next() { state.evolve(event) }
      digest.add(element: Array("\(number)\n\(answers(state, by: fold))".utf8))
    }
    return Hexadecimal.encode(Array(digest.bytes.prefix(16)))
  }

  /// Everything that a stream's events decide, as text.
  static func answers(_ state: StreamState, by fold: Fold) -> String {
    let key = StreamKey(environment: .production, bundleId: "app", originalTransactionId: "1")
    let stream = FoldedStream(key, state, by: fold)
    return (stream.indexed.map { text($0) } + lines(stream.row) + stream.lines.map(purchase))
      .joined(separator: "\n")
  }

  /// What the rules say of a purchase; the rest of its line is Apple's.
  private static func purchase(_ line: TransactionLine) -> String {
    let columns = [
      "transaction_id", "other_transaction_ids", "ended_at_ms", "replaced_by", "revoked_at_ms",
      "refunded_milliunits", "price_milliunits",
    ]
    return text(columns.map { line[$0] })
  }

  /// What a row says: of all times first, then of each.
  static func lines(_ row: EntitlementRow) -> [String] {
    let last = row.lastEvent
    let always: [Any?] = [
      row.eventCount, last?.uuid, last?.notificationType, last?.subtype, last?.signedDate,
      row.renewalProductId, row.lasting?.productId, row.lasting?.from,
    ]
    return [text(always)]
      + row.answers(durations: [:]).map { answer in
        text(values(answer) + purchase(answer) + [row.periodEnd(at: answer.asOf)])
      }
  }

  private static func values(_ answer: Entitlement) -> [Any?] {
    [
      answer.asOf, answer.status.rawValue, answer.givesAccess, answer.productId, answer.expiresAt,
      answer.gracePeriodExpiresAt, answer.revokedAt, answer.autoRenew, answer.pendingProductId,
      answer.hasGap, answer.priceIncrease?.rawValue, answer.commitmentAutoRenew, answer.hasAnomaly,
    ]
  }

  private static func purchase(_ answer: Entitlement) -> [Any?] {
    guard let purchase = answer.purchase else { return [] }
    let (offer, commitment) = (purchase.offer, purchase.commitment)
    return [
      purchase.transactionId, purchase.productType, purchase.ownership,
      purchase.subscriptionGroupId, purchase.startsAt, purchase.appAccountToken,
      purchase.appTransactionId, purchase.price?.milliunits, purchase.price?.currency, offer?.type,
      offer?.identifier, offer?.discountType, offer?.period, commitment?.billingPeriodNumber,
      commitment?.totalBillingPeriods, commitment?.commitmentExpiresDate,
    ]
  }

  /// No generated text has a tabulator.
  private static func text(_ values: [Any?]) -> String {
    values.map { $0.map { "\($0)" } ?? "–" }.joined(separator: "\t")
  }
}
