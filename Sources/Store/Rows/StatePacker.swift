import AppStore
import Entitlements
import Platform

/// Compresses the encoded states of a projection. Use one per thread.
public final class StatePacker {
  private let zstd = Zstd()

  public init() {}

  /// Prepares a stream for `Projection.write`.
  public func pack(_ stream: FoldedStream) -> PackedStream {
    let state = pack(stream.state)
    let sums = RowSums(
      stream.row, stream.lines, requests: stream.requests.count, stream.key)
    return PackedStream(
      projected: stream.projected, lines: stream.lines, requests: stream.requests, ids: stream.ids,
      predecessors: stream.predecessors, state: state, sums: sums,
      checksum: state.withUnsafeBytes {
        RowSums.checksum(
          sums.columns, stream.key, stream.row.lastEvent?.seq, broken: stream.broken, state: $0)
      },
      share: SetDigest(key: stream.key, content: sums.content, state: stream.state))
  }

  /// Most states are short and repeat the words of this one. It is part of the schema: a change of
  /// it, or of the encoding, is another `ProjectionFile.schema`.
  private static let dictionary = ZstdDictionary(sample.encoded(), level: -1)

  /// The length before compression, then one frame without the number that each begins with; length
  /// 0, then the bytes themselves where zstd fails.
  package func pack(_ state: [UInt8]) -> [UInt8] {
    var packed: [UInt8] = []
    guard let frame = zstd.compress(state, with: Self.dictionary) else { return [0] + state }
    VarInt.append(state.count, to: &packed)
    return packed + frame.dropFirst(Self.magicNumber.count)
  }

  /// Returns nil if the bytes are damaged.
  package func unpack(_ packed: [UInt8]) -> [UInt8]? {
    var rest = packed[...]
    guard let size = VarInt.read(&rest) else { return nil }
    guard size > 0 else { return Array(rest) }
    let frame = Self.magicNumber + rest
    return zstd.decompress(frame[...], size: size, with: Self.dictionary)
  }

  /// RFC 8878 section 3.1.1: 0xFD2FB528, little-endian.
  private static let magicNumber: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

  /// A subscription's first two transactions with Apple's usual words.
  private static let sample: StreamState = {
    var state = StreamState()
    for (index, type) in ["SUBSCRIBED", "DID_CHANGE_RENEWAL_STATUS", "DID_RENEW"].enumerated() {
      var transaction = Transaction()
      transaction.transactionId = "200000000000000\(index)"
      transaction.originalTransactionId = "2000000000000000"
      transaction.webOrderLineItemId = "200000000000000\(index)"
      transaction.appTransactionId = "704000000000000000"
      transaction.appAccountToken = "01234567-89ab-4cde-8f01-23456789abcd"
      transaction.productId = "com.example.pro.monthly"
      transaction.subscriptionGroupIdentifier = "20000000"
      transaction.type =
        ["Consumable", "Non-Renewing Subscription", "Auto-Renewable Subscription"][index]
      transaction.inAppOwnershipType = index == 0 ? "FAMILY_SHARED" : "PURCHASED"
      transaction.transactionReason = index == 0 ? "PURCHASE" : "RENEWAL"
      transaction.purchaseDate = 1_767_225_600_000
      transaction.expiresDate = 1_769_904_000_000
      transaction.signedDate = 1_767_225_600_700
      transaction.quantity = 1
      transaction.price = 9_990
      transaction.currency = index == 0 ? "EUR" : "USD"
      transaction.storefront = index == 0 ? "DEU" : "USA"
      transaction.offerDiscountType = index == 0 ? "FREE_TRIAL" : nil
      transaction.offerPeriod = index == 0 ? "P1M" : nil
      var renewal = RenewalInfo()
      renewal.originalTransactionId = transaction.originalTransactionId
      renewal.productId = transaction.productId
      renewal.autoRenewProductId = transaction.productId
      renewal.autoRenewStatus = 1
      renewal.renewalDate = transaction.expiresDate
      renewal.appAccountToken = transaction.appAccountToken
      renewal.appTransactionId = transaction.appTransactionId
      renewal.signedDate = transaction.signedDate
      state.evolve(
        FoldEvent(
          seq: 1, uuid: NotificationUUID(high: 0, low: UInt64(index)), notificationType: type,
          subtype: ["INITIAL_BUY", "AUTO_RENEW_DISABLED", "BILLING_RECOVERY"][index],
          signedDate: transaction.signedDate, status: 1, transactions: [transaction],
          renewal: renewal))
    }
    return state
  }()
}
