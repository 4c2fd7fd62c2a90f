import AppStore
public import Entitlements
import Platform
package import Store
import StrictJSON
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
/// Costs about 40 ms of processor time, once per process and fold, when a projection is opened or
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
    return
      ([text(stream.indexed.map { .texts($0) })] + lines(stream.row)
      + stream.lines.map(purchase))
      .joined(separator: "\n")
  }

  /// What the rules say of a purchase; the rest of its line is Apple's.
  private static func purchase(_ line: TransactionLine) -> String {
    text(decided.map { line.values[$0] })
  }

  private static let decided = [
    "transaction_id", "other_transaction_ids", "ended_at_ms", "replaced_by", "revoked_at_ms",
    "refunded_milliunits", "price_milliunits", "refunded_seats", "seats_refunded_at_ms",
    "is_upgraded", "expires_at_ms", "reason", "app_account_token", "offer_type", "refunds",
  ].compactMap { TransactionField.places[$0] }

  /// What a row says: of all times first, then of each.
  static func lines(_ row: EntitlementRow) -> [String] {
    let last = row.lastEvent
    let always: [FieldValue] = [
      .of(row.eventCount), last.map { .uuid($0.uuid) } ?? .none, .of(last?.notificationType),
      .of(last?.subtype), .of(last?.signedDate), .of(row.renewalProductId),
      .of(row.lasting?.productId), .of(row.lasting?.from),
    ]
    return [text(always)]
      + row.answers(durations: [:]).map { answer in
        text(values(answer) + purchase(answer) + [.of(row.periodEnd(at: answer.asOf))])
      }
  }

  private static func values(_ answer: Entitlement) -> [FieldValue] {
    [
      .of(answer.asOf), .of(answer.status.rawValue), .of(answer.givesAccess),
      .of(answer.productId), .of(answer.expiresAt), .of(answer.gracePeriodExpiresAt),
      .of(answer.revokedAt), .of(answer.autoRenew), .of(answer.pendingProductId),
      .of(answer.hasGap), .of(answer.priceIncrease?.rawValue), .of(answer.commitmentAutoRenew),
      .of(answer.hasAnomaly), .of(answer.seats),
    ]
  }

  private static func purchase(_ answer: Entitlement) -> [FieldValue] {
    guard let purchase = answer.purchase else { return [] }
    let (offer, commitment) = (purchase.offer, purchase.commitment)
    return [
      .of(purchase.transactionId), .of(purchase.productType), .of(purchase.ownership),
      .of(purchase.subscriptionGroupId), .of(purchase.startsAt), .of(purchase.appAccountToken),
      .of(purchase.appTransactionId), .of(purchase.price?.milliunits),
      .of(purchase.price?.currency), .of(offer?.type), .of(offer?.identifier),
      .of(offer?.discountType), .of(offer?.period), .of(commitment?.billingPeriodNumber),
      .of(commitment?.totalBillingPeriods), .of(commitment?.commitmentExpiresDate),
    ]
  }

  /// No generated text has a tabulator.
  private static func text(_ values: [FieldValue]) -> String {
    var text = ""
    for value in values {
      switch value {
      case .none: text += "–"
      case .text(let value): text += value
      case .integer(let value): text += String(value)
      case .flag(let isTrue): text += isTrue ? "true" : "false"
      case .uuid(let value): text += value.description
      case .texts(let values): for value in values { text += value + "," }
      case .refunds(let values): text += "\(values.map(\.json.text))"
      }
      text += "\t"
    }
    return text
  }
}
