public import AppStore
public import Clients
import Entitlements
import Ledger
public import Platform
public import Queries
public import Store

/// Compares customers with what Apple says of them now, one after the other, and journals what is
/// new. One for each thread.
public final class Reconciler {
  private let reader: LedgerReader
  private let version: String
  private let policy: RetryPolicy
  private let cancellation: Cancellation
  private var questions: [ObjectIdentifier: CustomerQuestion] = [:]

  /// - Parameters:
  ///   - reader: of the ledger in which answers are journaled.
  ///   - version: of this program, for Apple.
  ///   - cancellation: ends every request and every wait.
  public init(
    _ reader: LedgerReader, version: String, _ policy: RetryPolicy, _ cancellation: Cancellation
  ) {
    (self.reader, self.version) = (reader, version)
    (self.policy, self.cancellation) = (policy, cancellation)
  }

  /// Asks Apple about a customer, journals the answer, and compares.
  ///
  /// - Parameters:
  ///   - account: the stream's app in its environment.
  ///   - now: milliseconds since 1970.
  ///   - submit: journals any number of lines of NDJSON; returns what became of each.
  /// - Returns: nil if Apple does not know the customer.
  /// - Throws: `LedgerError`; what was journaled before stays.
  public func compare(
    _ stream: StreamKey, _ account: AppStoreAccount, at now: Int64,
    submit: ([[UInt8]]) throws(LedgerError) -> [Outcome]
  ) throws(LedgerError) -> Reconciliation? {
    let question = try mapError(
      { (error: ClientError) in LedgerError.unavailable("\(error)") }, try question(account))
    let id = stream.originalTransactionId
    guard
      let answer = try mapError(
        { (error: AppStoreError) in LedgerError(error) }, try question.ask(id))
    else { return nil }
    let before = try row(stream, at: now)
    let outcomes = try submit(answer.lines(.asked))
    return Reconciliation(
      stream, answer, before: before, after: try row(stream, at: now), outcomes, at: now,
      durations: reader.durations[stream], by: reader.journal.fold)
  }

  private func question(_ account: AppStoreAccount) throws(ClientError) -> CustomerQuestion {
    if let known = questions[ObjectIdentifier(account)] { return known }
    // It holds the account, so that no other can get its identifier.
    let made = try CustomerQuestion([account], version: version, policy, cancellation)
    questions[ObjectIdentifier(account)] = made
    return made
  }

  private func row(_ stream: StreamKey, at now: Int64) throws(LedgerError) -> RowDocument? {
    try reader.entitlement(
      stream.originalTransactionId, environment: stream.environment, bundleId: stream.bundleId,
      LedgerReader.Question(now: now))
  }
}
