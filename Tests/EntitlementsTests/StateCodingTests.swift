import AppStore
import Entitlements
import Support
import Testing

/// The encoding of states: nothing is lost, equal states give equal bytes, and any bytes are safe
/// to decode.
@Suite struct StateCodingTests {
  @Test func `a decoded state equals the encoded one`() {
    for seed in 1...1500 {
      var chance = SplitMix64(seed: UInt64(seed))
      let state = folded((0..<chance.below(5)).map { Self.event($0, &chance) })
      #expect(Self.reread(state) == state, "seed \(seed)")
    }
  }

  @Test func `every member of a transaction is in the bytes`() {
    var chance = SplitMix64(seed: 3)
    for _ in 0..<50 {
      let full = Self.transaction(&chance, isFull: true)
      for (name, clear) in Self.clearings {
        var less = full
        clear(&less)
        #expect(less != full, "\(name)")
        let (one, other) = (Self.state(full), Self.state(less))
        #expect(one.encoded() != other.encoded(), "\(name)")
        #expect(Self.reread(other) == other, "\(name)")
      }
    }
  }

  @Test func `random bytes are safe to decode`() {
    for seed in 1...3000 {
      var chance = SplitMix64(seed: UInt64(seed))
      let bytes = (0..<chance.below(120)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
      Self.readAndUse(bytes)
      // The format's number first, so that more than the first byte is read.
      Self.readAndUse([5] + bytes)
      Self.readAndUse([5] + bytes.map { $0 & 3 })
    }
  }

  @Test func `truncated and damaged bytes are safe to decode`() {
    var chance = SplitMix64(seed: 9)
    for _ in 0..<200 {
      let bytes = folded((0..<3).map { Self.event($0, &chance) }).encoded()
      for cut in [1, bytes.count / 2, bytes.count - 1] {
        #expect(StreamState(decoding: Array(bytes[..<cut])) == nil)
      }
      #expect(StreamState(decoding: bytes + [0]) == nil)
      for _ in 0..<20 {
        var damaged = bytes
        damaged[Int(chance.below(Int64(bytes.count)))] ^= UInt8(1) << UInt8(chance.below(8))
        Self.readAndUse(damaged)
      }
    }
  }

  /// No state has one transaction twice, ids out of order, or a count that more events could make
  /// overflow.
  @Test func `bytes that no state encodes to are refused`() throws {
    let state = folded(
      ["7", "8"].enumerated().map { index, id in
        var transaction = Transaction()
        transaction.transactionId = id
        transaction.previousOriginalTransactionId = "old.\(id)"
        return FoldEvent(
          seq: Int64(index), uuid: NotificationUUID(high: 1, low: UInt64(index)),
          notificationType: "X", subtype: nil, signedDate: Int64(index),
          transactions: [transaction])
      })
    let bytes = state.encoded()
    var read = 0
    for offset in bytes.indices {
      for value in UInt8.min ... .max {
        var changed = bytes
        changed[offset] = value
        guard let found = StreamState(decoding: changed),
          let row = EntitlementRow(decoding: changed, lastSeq: nil)
        else { continue }
        read += 1
        #expect(found.transactions.count == row.transactions.count, "\(offset) \(value)")
        let ids = found.previousOriginalTransactionIds.map { Array($0.utf8) }
        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
      }
    }
    #expect(read > bytes.count, "most changed bytes can be decoded")
    // The event count follows format and flags: 2 as a zigzag varint.
    let count = try #require(bytes.indices.first { $0 == 2 + Int(bytes[1]) })
    try #require(bytes[count] == 4)
    let most: [UInt8] = [0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
    let counted = Array(bytes[..<count]) + most + Array(bytes[(count + 1)...])
    #expect(StreamState(decoding: counted) == nil)
  }

  @Test func `extreme numbers are encoded and evaluated`() {
    for extreme in [Int64.min, .min + 1, -1, 0, 1, .max - 1, .max] {
      var transaction = Transaction()
      transaction.transactionId = "1"
      transaction.purchaseDate = extreme
      transaction.expiresDate = 0 &- extreme
      transaction.signedDate = .max
      transaction.revocationDate = .min
      transaction.price = extreme
      let state = Self.state(transaction)
      #expect(Self.reread(state) == state)
      for clock in [Int64.min, 0, .max] { _ = Entitlement(state, at: clock) }
    }
  }

  /// Promise 6.
  @Test func `texts that look alike and differ in bytes stay different`() throws {
    var transaction = Transaction()
    transaction.transactionId = "1"
    transaction.productId = "caf\u{E9}"
    transaction.currency = "cafe\u{301}"
    let read = try #require(StreamState(decoding: Self.state(transaction).encoded()))
    let back = try #require(read.transactions["1"]).transaction
    #expect(back.productId.map { Array($0.utf8) } == Array("caf\u{E9}".utf8))
    #expect(back.currency.map { Array($0.utf8) } == Array("cafe\u{301}".utf8))
  }

  @Test func `the row can be decoded without the registers`() {
    for seed in 1...500 {
      var chance = SplitMix64(seed: UInt64(seed))
      let state = folded((0..<chance.below(5)).map { Self.event($0, &chance) })
      let row = EntitlementRow(decoding: state.encoded(), lastSeq: state.lastEvent?.seq)
      #expect(row == EntitlementRow(state), "seed \(seed)")
    }
  }

  // MARK: Random states

  private static func reread(_ state: StreamState) -> StreamState? {
    StreamState(decoding: state.encoded(), lastSeq: state.lastEvent?.seq)
  }

  private static func readAndUse(_ bytes: [UInt8]) {
    _ = EntitlementRow(decoding: bytes, lastSeq: nil)?.entitlement(at: 0)
    guard let state = StreamState(decoding: bytes) else { return }
    #expect(StreamState(decoding: state.encoded()) == state)
    _ = Entitlement(state, at: 0)
  }

  private static func state(_ transaction: Transaction) -> StreamState {
    folded([
      FoldEvent(
        seq: 1, uuid: NotificationUUID(high: 1, low: 2), notificationType: "X", subtype: nil,
        signedDate: 5, transactions: [transaction])
    ])
  }

  private static func event(_ number: Int64, _ chance: inout SplitMix64) -> FoldEvent {
    var event = FoldEvent(
      seq: chance.below(.max), uuid: NotificationUUID(high: chance.next(), low: chance.next()),
      notificationType: text(&chance) ?? "REFUND_REVERSED", subtype: text(&chance),
      signedDate: integer(&chance) ?? 0, status: chance.pick([nil, 1, 3, 5]))
    if !chance.once(in: 3) { event.transaction = transaction(&chance, isFull: false) }
    if chance.once(in: 2) { event.renewal = renewal(&chance) }
    return event
  }

  private static func text(_ chance: inout SplitMix64) -> String? {
    chance.pick([
      nil, "", "basic.m", "\u{1F980} r\u{E9}", "1000", String(chance.below(50)),
      // Almost a number or a UUID, which have forms of their own.
      "007", "999999999999999999", "1000000000000000000", "+5", "USD",
      "3b8fa75c-f197-4cbf-ad88-38c290f2a4b3", "3B8FA75C-F197-4CBF-AD88-38C290F2A4B3",
      "3b8fa75c-f197-4cbf-ad88-38c290f2a4b", "3b8fa75cf-197-4cbf-ad88-38c290f2a4b3",
    ])
  }

  private static func integer(_ chance: inout SplitMix64) -> Int64? {
    chance.pick([nil, 0, -1, .max, .min, chance.below(1 << 41), -chance.below(99)])
  }

  private static func renewal(_ chance: inout SplitMix64) -> RenewalInfo {
    var renewal = RenewalInfo()
    renewal.originalTransactionId = text(&chance)
    renewal.productId = text(&chance)
    renewal.autoRenewProductId = text(&chance)
    renewal.autoRenewStatus = integer(&chance)
    renewal.renewalDate = integer(&chance)
    renewal.expirationIntent = integer(&chance)
    renewal.isInBillingRetryPeriod = chance.pick([nil, true, false])
    renewal.gracePeriodExpiresDate = integer(&chance)
    renewal.priceIncreaseStatus = integer(&chance)
    renewal.commitmentAutoRenewStatus = integer(&chance)
    renewal.appAccountToken = text(&chance)
    renewal.appTransactionId = text(&chance)
    renewal.signedDate = integer(&chance) ?? 0
    return renewal
  }

  private static func transaction(_ chance: inout SplitMix64, isFull: Bool) -> Transaction {
    var transaction = Transaction()
    for field in texts { transaction[keyPath: field] = isFull ? "full" : text(&chance) }
    for field in integers { transaction[keyPath: field] = isFull ? 7 : integer(&chance) }
    transaction.transactionId = isFull ? "1" : text(&chance) ?? "1000"
    transaction.purchaseDate = integer(&chance) ?? 0
    transaction.signedDate = integer(&chance) ?? 0
    transaction.isUpgraded = isFull || chance.once(in: 2)
    if isFull || chance.once(in: 2) {
      transaction.commitment = Transaction.Commitment(
        billingPeriodNumber: chance.below(12), totalBillingPeriods: 12,
        commitmentExpiresDate: isFull ? 5 : integer(&chance))
    }
    return transaction
  }

  private static var texts: [WritableKeyPath<Transaction, String?>] {
    [
      \.originalTransactionId, \.previousOriginalTransactionId, \.webOrderLineItemId,
      \.appTransactionId, \.appAccountToken, \.productId, \.subscriptionGroupIdentifier, \.type,
      \.inAppOwnershipType, \.transactionReason, \.currency, \.storefront, \.offerIdentifier,
      \.offerDiscountType, \.offerPeriod, \.revocationType, \.billingPlanType,
    ]
  }

  private static var integers: [WritableKeyPath<Transaction, Int64?>] {
    [
      \.expiresDate, \.quantity, \.price, \.offerType, \.revocationDate, \.revocationReason,
      \.revocationPercentage,
    ]
  }

  private static var clearings: [(String, (inout Transaction) -> Void)] {
    texts.map { field in ("\(field)", { $0[keyPath: field] = nil }) }
      + integers.map { field in ("\(field)", { $0[keyPath: field] = nil }) } + [
        ("isUpgraded", { $0.isUpgraded = false }), ("commitment", { $0.commitment = nil }),
        ("commitmentExpiresDate", { $0.commitment?.commitmentExpiresDate = nil }),
      ]
  }
}
