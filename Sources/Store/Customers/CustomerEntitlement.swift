public import AppStore
public import StrictJSON

/// What a customer has of an app under one name, as it was last found.
public struct CustomerEntitlement: Sendable, Equatable {
  /// A customer of an app, as files name him.
  public struct Customer: Sendable, Hashable {
    public let environment: Environment
    public let bundleId: String
    /// What `id` is: a word of `by` in `GET /v1/customers`.
    public let by: String
    /// The id in UTF-8; of an account its mac, so that only the journal names it.
    public let id: [UInt8]

    public init(environment: Environment, bundleId: String, by: String, id: [UInt8]) {
      (self.environment, self.bundleId, self.by, self.id) = (environment, bundleId, by, id)
    }

    /// A key without an original transaction id.
    public var app: StreamKey {
      StreamKey(environment: environment, bundleId: bundleId, originalTransactionId: "")
    }
  }

  /// What others are told of it.
  public struct Answer: Sendable, Equatable {
    public let isActive: Bool
    public let basis: String?
    /// Milliseconds since 1970; nil: it does not end, or is not active.
    public let expiresAt: Int64?
    public let productId: String?
    /// Whether it is a free trial.
    public let isTrial: Bool

    public init(
      isActive: Bool, basis: String?, expiresAt: Int64?, productId: String?, isTrial: Bool
    ) {
      (self.isActive, self.basis, self.isTrial) = (isActive, basis, isTrial)
      (self.expiresAt, self.productId) = (expiresAt, productId)
    }

    public static let inactive = Answer(
      isActive: false, basis: nil, expiresAt: nil, productId: nil, isTrial: false)

    public static let object = JSONObject<Answer>([
      JSONMember("active", .boolean("Whether the customer may use it.")) { $0.isActive },
      JSONMember("basis", .text("Why; null if it is not active.")) { $0.basis },
      JSONMember("expires_at", .time("When it ends, as far as is known.")) { $0.expiresAt },
      JSONMember("product_id", .text("The product that gives it.")) { $0.productId },
      JSONMember("trial", .boolean("Whether it is a free trial.")) { $0.isTrial },
    ])

    /// Reads what `object` writes.
    init(_ root: JSONElement?) {
      isActive = root?["active"]?.boolean ?? false
      basis = root?["basis"]?.string
      expiresAt = root?["expires_at"]?.integer
      productId = root?["product_id"]?.string
      isTrial = root?["trial"]?.boolean ?? false
    }
  }

  public let customer: Customer
  public let name: String
  public var answer: Answer
  /// Since when it is active, or is not; milliseconds since 1970, as `next` is.
  public var since: Int64
  /// Of the row that gives it.
  public var originalTransactionId: String?
  /// When time alone may change the answer; nil: never.
  public var next: Int64?

  public init(
    _ customer: Customer, _ name: String, _ answer: Answer, since: Int64,
    originalTransactionId: String?, next: Int64?
  ) {
    (self.customer, self.name, self.answer) = (customer, name, answer)
    (self.since, self.originalTransactionId, self.next) = (since, originalTransactionId, next)
  }
}

/// Why what a customer has is looked at anew.
public struct CustomerCause: Sendable, Equatable {
  public enum Reason: String, Sendable, CaseIterable {
    /// Apple said something of a purchase.
    case event
    case time
    /// The mapping of products to names.
    case mapping
    /// A user of the owner claimed a purchase, or released it.
    case claim
    /// The owner granted something, or ended a grant.
    case grant
    /// Another user's claim was forgotten with him.
    case erasure
    /// The rules of this program.
    case rebuild
  }

  public let reason: Reason
  /// The event that says so; nil if none does.
  public let seq: Int64?
  /// When it happened, milliseconds since 1970.
  public let at: Int64
  /// Behind which other messages it is told: the id of a stream in the journal, 0 for none.
  public var stream: Int64

  public init(_ reason: Reason, seq: Int64? = nil, at: Int64, stream: Int64 = 0) {
    (self.reason, self.seq, self.at, self.stream) = (reason, seq, at, stream)
  }
}

/// That the answer for a customer changed.
public struct CustomerChange: Sendable, Equatable {
  public let customer: CustomerEntitlement.Customer
  public let name: String
  public let before: CustomerEntitlement.Answer
  public let after: CustomerEntitlement.Answer
  public let cause: CustomerCause

  public init(
    _ entitlement: CustomerEntitlement, before: CustomerEntitlement.Answer, _ cause: CustomerCause
  ) {
    (customer, name) = (entitlement.customer, entitlement.name)
    (self.before, after, self.cause) = (before, entitlement.answer, cause)
  }

  init(
    _ customer: CustomerEntitlement.Customer, _ name: String,
    before: CustomerEntitlement.Answer, after: CustomerEntitlement.Answer, _ cause: CustomerCause
  ) {
    (self.customer, self.name, self.before, self.after) = (customer, name, before, after)
    self.cause = cause
  }
}
