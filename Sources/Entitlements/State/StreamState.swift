public import AppStore
import Platform

/// The registers of one stream: everything that the fold stores about a customer's subscription.
///
/// Every register is a maximum or a minimum over a total order. It holds a whole object of Apple's,
/// never merged member by member, because the absence of a member is information. Folding is
/// therefore commutative, associative and idempotent, and the same events in any order give the
/// same state (promise 6). The fold uses no clock, no randomness and no locale.
public struct StreamState: Sendable, Equatable {
  /// Decides between two objects for one register: the one with the greater key stays.
  public struct Key: Sendable, Equatable, Comparable {
    /// Whether Apple signed the object by itself. Such an object wins over one of V1 or of a
    /// receipt, whatever the dates.
    public var isSigned: Bool
    /// The object's own signedDate, ms. V1: evidence time; receipt: its creation date, ms.
    var signed: Int64
    /// The notification's signedDate, ms. V1 and receipts: `FoldEvent.receiptDate`.
    var notification: Int64
    /// V1: when the customer last turned renewal on or off, ms; 0 for all others.
    var renewalChange: Int64
    /// V1 and receipts: the number of the stream's transactions in it; 0 for all others.
    var transactions: Int64
    var isRevoked: Bool
    public var uuid: NotificationUUID

    init(
      isSigned: Bool, signed: Int64, notification: Int64, renewalChange: Int64 = 0,
      transactions: Int64 = 0, isRevoked: Bool, uuid: NotificationUUID
    ) {
      self.isSigned = isSigned
      self.signed = signed
      self.notification = notification
      self.renewalChange = renewalChange
      self.transactions = transactions
      self.isRevoked = isRevoked
      self.uuid = uuid
    }

    public static func < (one: Self, other: Self) -> Bool {
      if one.isSigned != other.isSigned { return other.isSigned }
      if one.signed != other.signed { return one.signed < other.signed }
      if one.notification != other.notification { return one.notification < other.notification }
      if one.renewalChange != other.renewalChange {
        return one.renewalChange < other.renewalChange
      }
      if one.transactions != other.transactions { return one.transactions < other.transactions }
      if one.isRevoked != other.isRevoked { return other.isRevoked }
      return one.uuid < other.uuid
    }
  }

  /// All registers of one transactionId.
  public struct TransactionRegister: Sendable, Equatable {
    public var key: Key
    /// What `transaction` returns without a copy.
    var held: Held
    /// The earliest signedDate seen for it, ms; nil before Apple signed it by itself.
    var first: Int64?
    /// The latest signedDate of a REFUND_REVERSED for it, ms: revocations up to then are void.
    public var clear: Int64?
    /// The latest signedDate with which it was told without a revocation, ms.
    var restored: Int64?
    /// Every revocation date told since `restored`, sorted by date.
    var revocations: [Revocation] = []
    /// How many seats were refunded, and since when, sorted by their number.
    var seatRefunds: [SeatRefund] = []
    /// V1 said is_upgraded.
    var isUpgradedByV1 = false
    /// What other snapshots say beside the newest; nil if they say no more.
    var older: Older? {
      get { olderBox?.value }
      set { olderBox = newValue.map(OlderBox.init) }
    }
    private var olderBox: OlderBox?

    init(key: Key, held: Held) {
      self.key = key
      self.held = held
    }

    public var transaction: Transaction { held.transaction }

    /// A revocation date, and the latest signedDate with which it was told, ms.
    struct Revocation: Sendable, Equatable {
      var date: Int64
      var signed: Int64
    }

    /// A number of refunded seats, and the earliest signedDate with which it was told, ms.
    struct SeatRefund: Sendable, Equatable {
      var quantity: Int64
      var signed: Int64
    }

    /// What not every source can say, each of the newest snapshot that says it, while the newest
    /// of all does not.
    struct Older: Sendable, Equatable {
      var ownership: Told<String>?
      var subscriptionGroup: Told<String>?
      var price: Told<Purchase.Price>?
      /// Apple's consumptionRequestReason.
      var requestReason: Told<String>?
      var reason: Told<String>?
      /// Of V1 and receipts, unless Apple signed the transaction by itself.
      var accountToken: Told<String>?
      /// As the account token; an offer with a name, which not every source can say.
      var offer: Told<Purchase.Offer>?
      /// What the newest of V1 and receipts says of the end.
      var unsigned: Told<Unsigned>?
      /// Every refund that Apple signed, sorted by date.
      var refunds: [ToldRefund] = []
      /// The signedDate of each REFUND_REVERSED, ms, sorted.
      var reversals: [Int64] = []
    }

    /// What V1 or a receipt says of the end of a transaction. Milliseconds since 1970.
    struct Unsigned: Sendable, Equatable {
      /// A time that lies surely before it was made.
      var certain: Int64
      /// Nil if it says none.
      var expires: Int64?
      /// The cancellation date, unless it is that of an upgrade.
      var cancel: Int64?
    }

    /// Nearly no register has one, and registers are moved often.
    private final class OlderBox: Sendable, Equatable {
      let value: Older

      init(_ value: Older) { self.value = value }

      static func == (one: OlderBox, other: OlderBox) -> Bool { one.value == other.value }
    }

    struct Told<Value: Sendable & Equatable>: Sendable, Equatable {
      var key: Key
      var value: Value
    }

    /// A class, so that copying a register copies a reference: registers are copied, sorted and
    /// moved far more often than one changes, and a transaction has sixteen strings.
    final class Held: Sendable, Equatable {
      let transaction: Transaction
      /// A hash of the webOrderLineItemId; 0 if it names none.
      let itemHash: UInt64

      /// When it expires, milliseconds since 1970; nil for a product that does not.
      let expires: Int64?
      let reason: Replacements.Reason
      /// Whether it has a date, a price or a quantity that no purchase has.
      let isAnomalous: Bool

      init(_ transaction: Transaction) {
        self.transaction = transaction
        itemHash = Self.hash(of: transaction.webOrderLineItemId)
        let isEndless = transaction.isEndless
        expires = isEndless ? transaction.purchaseDate : transaction.expiresDate
        reason = Replacements.Reason(transaction)
        isAnomalous = isEndless || transaction.hasImpossibleValue
      }

      /// FNV-1a. Products that are no subscription have 0 or none.
      private static func hash(of item: String?) -> UInt64 {
        guard let item, item != "0", !item.isEmpty else { return 0 }
        return item.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } | 1
      }

      static func == (one: Held, other: Held) -> Bool {
        one === other || one.transaction == other.transaction
      }
    }
  }

  /// Renewal information of the stream.
  public struct RenewalRegister: Sendable, Equatable {
    public var key: Key
    public var renewal: RenewalInfo
    /// The end of the period that V1's is about, ms; nil if it lists none. Apple's own says it as
    /// renewalDate.
    var periodEnd: Int64?
  }

  /// The newest `data.status`, by (signedDate, uuid).
  public struct StatusRegister: Sendable, Equatable {
    /// The notification's signedDate, ms.
    var signed: Int64
    public var uuid: NotificationUUID
    /// Apple's data.status, 1 to 5.
    public var status: Int64
    /// It came with DID_FAIL_TO_RENEW / GRACE_PERIOD.
    var isGracePeriod: Bool
    /// The renewal information of the same event, which says what the status was about.
    var renewal: RenewalInfo?
  }

  /// The latest gracePeriodExpiresDate told of the period that ended at a time.
  struct Grace: Sendable, Equatable {
    /// Milliseconds since 1970, both.
    var periodEnd: Int64
    var until: Int64
  }

  /// The event with the greatest (signedDate, uuid).
  public struct LastEvent: Sendable, Equatable {
    /// Its position in the journal.
    public var seq: Int64
    public var uuid: NotificationUUID
    public var notificationType: String
    public var subtype: String?
    /// Milliseconds since 1970; the evidence time for V1.
    public var signedDate: Int64

    public init(
      seq: Int64, uuid: NotificationUUID, notificationType: String, subtype: String? = nil,
      signedDate: Int64
    ) {
      self.seq = seq
      self.uuid = uuid
      self.notificationType = notificationType
      self.subtype = subtype
      self.signedDate = signedDate
    }
  }

  /// By transactionId.
  public internal(set) var transactions: [String: TransactionRegister] = [:]
  /// What Apple signed.
  public internal(set) var renewal: RenewalRegister?
  /// What V1 said.
  public internal(set) var renewalV1: RenewalRegister?
  public internal(set) var status: StatusRegister?
  /// A time that lies surely before a V1 notification was made, ms: the latest one.
  var certainV1: Int64?
  /// Sorted by the period's end.
  var graces: [Grace] = []
  /// Whether the stream is in the sandbox, where a grace period lasts minutes.
  var isSandbox = false
  /// How many events of the stream were folded.
  public internal(set) var eventCount: Int64 = 0
  public internal(set) var lastEvent: LastEvent?
  /// Every original transaction id that the stream ever named as the one it replaced (MIGRATION),
  /// sorted by bytes. Answers about the past also need those that newer events no longer name.
  public internal(set) var previousOriginalTransactionIds: [String] = []
  /// Every app account token that the stream was ever told with, sorted by bytes: answers about the
  /// past also need those that newer events no longer name.
  public internal(set) var toldAccountTokens: [String] = []

  public init() {}

  /// By transactionId: the first and the last event in the journal that told of it. They depend on
  /// the order of arrival, decide nothing, and are not encoded.
  public internal(set) var seqs: [String: ClosedRange<Int64>] = [:]

  /// Sets `seqs` to what was stored of them, by transactionId.
  package mutating func setSeqs(_ stored: [(id: String, first: Int64?, last: Int64?)]) {
    for (id, first, last) in stored {
      guard let first, let last, first <= last else { continue }
      seqs[id] = first...last
    }
  }

  /// Whether no event carried a transaction or a renewal. Such a stream has no row.
  var isEmpty: Bool { transactions.isEmpty && renewal == nil && renewalV1 == nil }

  /// Every app account token in the stream's registers, sorted by bytes.
  public var accountTokens: [String] {
    distinct(and: renewal?.renewal.appAccountToken) { $0.accountToken }
  }

  /// Every app transaction id in the stream's registers, sorted by bytes.
  public var appTransactionIds: [String] {
    distinct(and: renewal?.renewal.appTransactionId) { $0.held.transaction.appTransactionId }
  }

  /// The same state without seqs: nothing else in it depends on the order of arrival.
  public var withoutSeq: StreamState {
    var state = self
    state.lastEvent?.seq = 0
    state.seqs = [:]
    return state
  }

  /// The distinct values of all transactions and one more, sorted by bytes.
  private func distinct(
    and other: String?, _ value: (TransactionRegister) -> String?
  ) -> [String] {
    // By bytes: `String` calls two encodings of one accented letter equal, and which of them stayed
    // would depend on the order of a dictionary (promise 6).
    var found: [String] = []
    // Most transactions of one customer have the same value.
    var last: String?
    func add(_ text: String?) {
      guard let text else { return }
      if let last, ByteSearch.areEqual(last, text) { return }
      last = text
      Self.insert(text, into: &found)
    }
    for register in transactions.values { add(value(register)) }
    add(other)
    return found
  }

  /// Inserts a text into texts that are sorted by bytes, unless it is there.
  static func insert(_ text: String, into sorted: inout [String]) {
    let index = sorted.partitionPoint { ByteSearch.precedes($0, text) }
    let isKnown = index < sorted.count && ByteSearch.areEqual(sorted[index], text)
    if !isKnown { sorted.insert(text, at: index) }
  }
}
