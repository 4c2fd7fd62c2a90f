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
      let state = RandomEvent.state(&chance)
      #expect(Self.reread(state)?.withoutSeq == state.withoutSeq, "seed \(seed)")
    }
  }

  @Test func `every member of a transaction is in the bytes`() {
    var chance = SplitMix64(seed: 3)
    for _ in 0..<50 {
      let full = RandomEvent.transaction(&chance, isFull: true)
      for (name, clear) in Self.clearings {
        var less = full
        clear(&less)
        #expect(less != full, "\(name)")
        let (one, other) = (Self.state(full), Self.state(less))
        #expect(one.encoded() != other.encoded(), "\(name)")
        #expect(Self.reread(other)?.withoutSeq == other.withoutSeq, "\(name)")
      }
    }
  }

  @Test func `random bytes are safe to decode`() {
    for seed in 1...3000 {
      var chance = SplitMix64(seed: UInt64(seed))
      let bytes = (0..<chance.below(120)).map { _ in UInt8(truncatingIfNeeded: chance.next()) }
      Self.readAndUse(bytes)
      // Small numbers are counts, flags and lengths more often, so that more bytes are read.
      Self.readAndUse(bytes.map { $0 & 3 })
    }
  }

  @Test func `truncated and damaged bytes are safe to decode`() {
    var chance = SplitMix64(seed: 9)
    for _ in 0..<200 {
      let bytes = folded((0..<3).map { RandomEvent.event($0, &chance) }).encoded()
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

  /// No state has one transaction twice, predecessors out of order, or a count that more events
  /// could make overflow.
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
        guard let found = StreamState(decoding: changed) else { continue }
        read += 1
        #expect(StreamState(decoding: found.encoded()) == found, "\(offset) \(value)")
        let ids = found.previousOriginalTransactionIds.map { Array($0.utf8) }
        #expect(zip(ids, ids.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
      }
    }
    #expect(read > bytes.count, "most changed bytes can be decoded")
    // The id of the second transaction becomes that of the first.
    let id = try #require(bytes.indices.last { bytes[$0] == 0x38 && bytes[$0 - 1] == 1 })
    #expect(StreamState(decoding: bytes[..<id] + [0x37] + bytes[(id + 1)...]) == nil)
    // The event count is the first number: 2 as a zigzag varint.
    try #require(bytes[0] == 4)
    let most: [UInt8] = [0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
    let counted = most + bytes[1...]
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
      #expect(Self.reread(state)?.withoutSeq == state.withoutSeq)
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

  // MARK: States

  private static func reread(_ state: StreamState) -> StreamState? {
    StreamState(decoding: state.encoded(), lastSeq: state.lastEvent?.seq)
  }

  private static func readAndUse(_ bytes: [UInt8]) {
    guard let state = StreamState(decoding: bytes) else { return }
    #expect(StreamState(decoding: state.encoded()) == state)
    _ = Entitlement(state, at: 0)
    _ = EntitlementRow(state).entitlement(at: 0)
  }

  private static func state(_ transaction: Transaction) -> StreamState {
    folded([
      FoldEvent(
        seq: 1, uuid: NotificationUUID(high: 1, low: 2), notificationType: "X", subtype: nil,
        signedDate: 5, transactions: [transaction])
    ])
  }

  private static var clearings: [(String, (inout Transaction) -> Void)] {
    RandomEvent.texts.map { field in ("\(field)", { $0[keyPath: field] = nil }) }
      + RandomEvent.integers.map { field in ("\(field)", { $0[keyPath: field] = nil }) } + [
        ("isUpgraded", { $0.isUpgraded = false }), ("commitment", { $0.commitment = nil }),
        ("commitmentExpiresDate", { $0.commitment?.commitmentExpiresDate = nil }),
      ]
  }
}
