import AppStore
public import Entitlements
import Ledger
public import Platform
import Store

/// What a decision about a request for a refund depends on.
extension LedgerReader {
  /// A request as the journal has it, and what is known beside it; nil if the journal lacks it.
  ///
  /// - Throws: what SQLite reports.
  public func refundFacts(
    of line: RefundLine
  ) throws(LedgerError) -> (request: RefundRequest, facts: RefundFacts)? {
    let key = line.key
    let request = try journal.refundRequests(of: key).first { $0.uuid.description == line.uuid }
    let state = try journaledState(of: key, Question(now: 0))
    guard let request, let transaction = state.transactions[request.transactionId]?.transaction
    else { return nil }
    var facts = RefundFacts(transaction, in: key.environment)
    let names = try customerNames(of: line)
    facts.consent = try consent(of: names, in: key)
    facts.refundsBefore = try refunds(of: names, key, before: request.openedAt)
    facts.duration = transaction.productId.flatMap {
      durations[key].duration(of: $0, at: request.openedAt)
    }
    return (request, facts)
  }

  /// By which names the customer is known who asks.
  private func customerNames(of line: RefundLine) throws(LedgerError) -> [CustomerName] {
    try journal.accounts(of: line.key).map { CustomerName(.account, $0) }
      + [
        line["app_account_token"].text.map { CustomerName(.appAccountToken, $0.lowercased()) },
        line["app_transaction_id"].text.map { CustomerName(.appTransactionId, $0) },
      ].compactMap(\.self)
  }

  /// What was said last under any of the names.
  private func consent(
    of names: [CustomerName], in app: StreamKey
  ) throws(LedgerError) -> (isGranted: Bool, at: Int64)? {
    var last: (isGranted: Bool, at: Int64)?
    for name in names {
      guard let mac = try journal.mac(of: name) else { continue }
      for said in try journal.statements(about: mac, type: "REFUND_CONSENT", after: 0)
      where said.app == app.stream("") {
        guard case .consent(let isGranted, let since) = said.statement.content else { continue }
        // Nobody consented later than he said so.
        let at = min(since ?? said.receivedAt, said.receivedAt)
        // Of two at one time a withdrawal counts.
        if last.map({ $0.at < at || $0.at == at && $0.isGranted }) ?? true {
          last = (isGranted, at)
        }
      }
    }
    return last
  }

  /// How many refunds the customer got before a time, milliseconds since 1970.
  private func refunds(
    of names: [CustomerName], _ key: StreamKey, before time: Int64
  ) throws(LedgerError) -> Int64 {
    var keys: Set = [key]
    for name in names {
      switch name.kind {
      case .account: keys.formUnion(try journal.streams(claimedBy: name.name))
      case .appAccountToken:
        keys.formUnion(
          try projection().rows(.appAccountToken, name.name, after: nil, 100, .none).map(\.key))
      case .appTransactionId:
        keys.formUnion(
          try projection().rows(.appTransactionId, name.name, after: nil, 100, .none).map(\.key))
      }
    }
    var count: Int64 = 0
    for other in keys where other.stream("") == key.stream("") {
      let lines = try journaledState(of: other, Question(now: 0)).lines(of: other)
      count += Int64(
        lines.flatMap { $0["refunds"].refunds }.count { $0.kind == .refund && $0.at < time })
    }
    return count
  }
}
