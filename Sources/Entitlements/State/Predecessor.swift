import AppStore
import Platform

/// A stream that another one replaced: a transaction of the newer one names it (MIGRATION, and a
/// change between a standalone subscription and a bundle).
/// developer.apple.com/documentation/appstoreserverapi/previousoriginaltransactionid
public struct Predecessor: Sendable, Equatable {
  /// Of the stream that was replaced.
  public let originalTransactionId: String
  /// The purchase date of the transaction that names it, milliseconds since 1970.
  public let namedAt: Int64
  public let transactionId: String

  init(originalTransactionId: String, namedAt: Int64, transactionId: String) {
    self.originalTransactionId = originalTransactionId
    self.namedAt = namedAt
    self.transactionId = transactionId
  }

  /// The order of transactions that name a stream: purchase date, then the bytes of their ids.
  public static func isNamedEarlier(_ one: Self, _ other: Self) -> Bool {
    if one.namedAt != other.namedAt { return one.namedAt < other.namedAt }
    return ByteSearch.precedes(one.transactionId, other.transactionId)
  }
}

extension StreamState {
  /// The streams that this one replaced, in ascending order of their ids, each by the greatest
  /// transaction that names it.
  public var predecessors: [Predecessor] {
    // Nearly no stream has any.
    guard !previousOriginalTransactionIds.isEmpty else { return [] }
    var greatest = [Predecessor?](repeating: nil, count: previousOriginalTransactionIds.count)
    for register in transactions.values {
      guard let id = register.held.transaction.previousOriginalTransactionId else { continue }
      let index = previousOriginalTransactionIds.partitionPoint {
        ByteSearch.precedes($0, id)
      }
      guard index < greatest.count, ByteSearch.areEqual(previousOriginalTransactionIds[index], id)
      else { continue }
      let found = Predecessor(
        originalTransactionId: id, namedAt: register.held.transaction.purchaseDate,
        transactionId: register.held.transaction.transactionId)
      if greatest[index].map({ Predecessor.isNamedEarlier($0, found) }) ?? true {
        greatest[index] = found
      }
    }
    return greatest.compactMap { $0 }
  }
}
