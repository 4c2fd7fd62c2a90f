public import AppStore
public import Entitlements
public import Platform
import Store
public import StrictJSON

extension LedgerReader {
  /// The purchases of an original transaction id, folded from the journal, by when they were made;
  /// nil if there is no stream that may be shown.
  ///
  /// - Throws: as `entitlement`.
  public func transactions(
    _ originalTransactionId: String, environment: Environment, bundleId: String?,
    _ question: Question
  ) throws(LedgerError) -> [TransactionLine]? {
    let keys = try keys(originalTransactionId, environment, bundleId, question)
    guard let key = try Self.only(keys) else { return nil }
    let state = try journaledState(of: key, question)
    guard state.eventCount > 0 else { return nil }
    let confirmed = try journal.confirmedTransactions(
      key, signedThrough: question.signedThrough, receivedThrough: question.knownAt ?? .max)
    return try told(state.lines(of: key), of: key, question).map { $0.confirmed(at: confirmed) }
  }

  /// Lines where what was taken back for a purchase that replaces their row is no refund.
  func told(
    _ lines: [TransactionLine], of key: StreamKey, _ question: Question
  ) throws(LedgerError) -> [TransactionLine] {
    guard lines.contains(where: { $0.integer("refunded_milliunits") ?? 0 != 0 }) else {
      return lines
    }
    let replacements = try replacements(of: key, question)
    return lines.map { $0.told(among: replacements) }
  }
}

extension TransactionLine {
  public static let object = JSONObject<TransactionLine>(
    "Transaction",
    [.type("transaction")]
      + TransactionField.members(of: TransactionField.all).map { field in
        JSONMember<TransactionLine>(field.name, field.schema) { field.json(of: $0) }
      })
}
