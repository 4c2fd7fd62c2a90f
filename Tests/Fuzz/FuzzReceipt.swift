import AppStore
import Entitlements
import Ledger
import SignedData
import Store
import StrictJSON

/// Receipts: whatever the input, only what was signed is proven, and reading ends.
extension FuzzTarget {
  /// The input as a whole receipt, and as the content of one.
  static let receipt = FuzzTarget("receipt") { input in
    contentFault(input) ?? messageFault(input)
  }

  private static let moment: Int64 = 1_767_225_600_000
  private static let genuine = (1...3).map { FuzzFiles.read("genuine-receipt-\($0).der") }
  private static let root = FuzzFiles.read("receipt-root.der")

  private static func messageFault(_ input: [UInt8]) -> String? {
    guard let message = try? SignedMessage(parsing: input) else { return nil }
    guard message.der == input else { return "another message is kept" }
    guard let roots = try? TrustRoots(files: [root]), let prover = try? ReceiptProver(roots: roots)
    else { return "no prover" }
    let date = AppReceipt.claimedCreationDate(message.content) ?? moment
    guard (try? prover.prove(message, at: date)) != nil else { return nil }
    // The parts around the content are not signed.
    let isGenuine = genuine.contains { good in
      (try? SignedMessage(parsing: good))?.content.elementsEqual(message.content) == true
    }
    return isGenuine ? nil : "an unsigned receipt is proven"
  }

  private static func contentFault(_ input: [UInt8]) -> String? {
    guard let content = try? AppReceipt(input[...]) else { return nil }
    guard AppReceipt.claimedCreationDate(input[...]) == content.creationDate else {
      return "two dates of creation"
    }
    guard AppReceipt.recordCount(input[...]) == content.records.count else {
      return "a record is lost"
    }
    let ids = content.originalTransactionIds
    var count = 0
    for id in ids {
      let transactions = content.transactions(of: id)
      guard !transactions.isEmpty, transactions.allSatisfy({ $0.originalTransactionId == id })
      else { return "a transaction of another customer" }
      count += transactions.count
      if let fault = foldFault(transactions, at: content.creationDate) { return fault }
    }
    return count <= content.records.count ? nil : "more transactions than records"
  }

  private static func foldFault(_ transactions: [Transaction], at date: Int64) -> String? {
    let event = FoldEvent(
      seq: 0, uuid: NotificationUUID(high: 1, low: 1), notificationType: "RECEIPT", subtype: nil,
      signedDate: date, source: .receipt, transactions: transactions)
    var state = StreamState()
    state.evolve(event)
    guard StreamState(decoding: state.encoded()) == state.withoutSeq else {
      return "a state is lost"
    }
    for time in [Int64.min, 0, date, .max] {
      guard let row = EntitlementRow(state, by: .current).entitlement(at: time) else { continue }
      if row.givesAccess, row.purchase == nil { return "access from nothing" }
    }
    return nil
  }
}
