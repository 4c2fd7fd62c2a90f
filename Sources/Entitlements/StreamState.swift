public import AppStore
import Encoding

/// The registers of one stream: everything that the fold stores about a customer's subscription.
///
/// Every register is a maximum or a minimum over a total order. It holds a whole object of Apple's,
/// never merged member by member, because the absence of a member is information. Folding is
/// therefore commutative, associative and idempotent, and the same events in any order give the
/// same state (promise 6). The fold uses no clock, no randomness and no locale.
public struct StreamState: Sendable, Equatable {
  /// Decides between two objects for one register: the one with the greater key stays.
  public struct Key: Sendable, Equatable, Comparable {
    /// 1 for V2, 0 for V1: V2 always wins over V1, whatever the dates.
    public var version: Int64
    /// V2: the object's own signedDate, ms. V1: evidence time, ms.
    public var signed: Int64
    /// V2: the notification's signedDate, ms. V1: the number of the stream's transactions in it.
    public var notification: Int64
    public var isRevoked: Bool
    public var uuid: NotificationUUID

    public init(
      version: Int64, signed: Int64, notification: Int64, isRevoked: Bool, uuid: NotificationUUID
    ) {
      self.version = version
      self.signed = signed
      self.notification = notification
      self.isRevoked = isRevoked
      self.uuid = uuid
    }

    public static func < (one: Self, other: Self) -> Bool {
      if one.version != other.version { return one.version < other.version }
      if one.signed != other.signed { return one.signed < other.signed }
      if one.notification != other.notification { return one.notification < other.notification }
      if one.isRevoked != other.isRevoked { return other.isRevoked }
      return one.uuid < other.uuid
    }
  }

  /// All registers of one transactionId.
  public struct TransactionRegister: Sendable, Equatable {
    public var key: Key
    /// What `transaction` returns without a copy.
    var held: Held
    /// The earliest signedDate seen for it in V2, ms; nil before any.
    public var first: Int64?
    /// The latest signedDate of a REFUND_REVERSED for it, ms: revocations up to then are void.
    public var clear: Int64?
    /// V1: the earliest cancellation date seen for it, ms.
    public var cancel: Int64?

    init(key: Key, held: Held) {
      self.key = key
      self.held = held
    }

    public var transaction: Transaction { held.transaction }

    /// A class, so that copying a register copies a reference: registers are copied, sorted and
    /// moved far more often than one changes, and a transaction has sixteen strings.
    final class Held: Sendable, Equatable {
      let transaction: Transaction

      init(_ transaction: Transaction) { self.transaction = transaction }

      static func == (one: Held, other: Held) -> Bool {
        one === other || one.transaction == other.transaction
      }
    }
  }

  /// The stream's renewal information.
  public struct RenewalRegister: Sendable, Equatable {
    public var key: Key
    public var renewal: RenewalInfo
  }

  /// The newest `data.status`, by (signedDate, uuid).
  public struct StatusRegister: Sendable, Equatable {
    /// The notification's signedDate, ms.
    public var signed: Int64
    public var uuid: NotificationUUID
    /// Apple's data.status, 1 to 5.
    public var status: Int64
    /// The renewal information of the same event, which says what the status was about.
    public var renewal: RenewalInfo?
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
  public internal(set) var renewal: RenewalRegister?
  public internal(set) var status: StatusRegister?
  /// How many events of the stream were folded.
  public internal(set) var eventCount: Int64 = 0
  public internal(set) var lastEvent: LastEvent?
  /// Every original transaction id that the stream ever named as the one it replaced (MIGRATION),
  /// sorted by bytes. Answers about the past also need those that newer events no longer name.
  public internal(set) var previousOriginalTransactionIds: [String] = []

  public init() {}

  /// Whether no event carried a transaction or a renewal. Such a stream has no row.
  public var isEmpty: Bool { transactions.isEmpty && renewal == nil }

  /// Every app account token in the stream's registers, sorted by bytes.
  public var accountTokens: [String] {
    distinct(and: renewal?.renewal.appAccountToken) { $0.transaction.appAccountToken }
  }

  /// Every app transaction id in the stream's registers, sorted by bytes.
  public var appTransactionIds: [String] {
    distinct(and: renewal?.renewal.appTransactionId) { $0.transaction.appTransactionId }
  }

  /// Apple's newest data.status, while the renewal information in force says what that of the same
  /// event said. Newer information that says something else speaks for itself: the status is then
  /// as if it had never been sent. A status that came without any counts while it is not older than
  /// the event of the information in force. V1 has no status that could be out of date.
  var statusInForce: Int64? {
    guard let status else { return nil }
    guard let renewal, renewal.key.version == 1 else { return status.status }
    let isInForce =
      status.renewal.map { $0.saysTheSame(as: renewal.renewal) }
      ?? (status.signed >= renewal.key.notification)
    return isInForce ? status.status : nil
  }

  /// The same state with seq 0: nothing else in it depends on the order of arrival.
  public var withoutSeq: StreamState {
    var state = self
    state.lastEvent?.seq = 0
    return state
  }

  /// The distinct values of all transactions and one more, sorted by bytes.
  private func distinct(
    and other: String?, _ value: (TransactionRegister.Held) -> String?
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
    for register in transactions.values { add(value(register.held)) }
    add(other)
    return found
  }

  /// Inserts a text into texts that are sorted by bytes, unless it is there.
  static func insert(_ text: String, into sorted: inout [String]) {
    let index = sorted.partitionPoint { $0.utf8.lexicographicallyPrecedes(text.utf8) }
    let isKnown = index < sorted.count && ByteSearch.areEqual(sorted[index], text)
    if !isKnown { sorted.insert(text, at: index) }
  }
}
