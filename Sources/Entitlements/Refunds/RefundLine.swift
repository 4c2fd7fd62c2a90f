public import AppStore
import Platform

/// A request for a refund as it is stored and shown: a line of `refund_request_v1`.
public struct RefundLine: Sendable, Equatable {
  public let key: StreamKey
  /// Of `RefundField.all`, in their order; as stored, without what depends on the time.
  public private(set) var values: [FieldValue]

  /// - Parameter values: of `RefundField.stored`.
  public init(_ key: StreamKey, stored values: [FieldValue]) {
    self.key = key
    self.values = KeyFields.all.map { $0.value(key) } + values
  }

  /// - Parameters:
  ///   - state: of the stream.
  ///   - lines: its purchases.
  public init(
    _ key: StreamKey, _ request: RefundRequest, _ state: StreamState, _ lines: [TransactionLine]
  ) {
    let id = request.transactionId
    let source = RefundSource(
      request: request, transaction: state.transactions[id]?.transaction,
      purchase: lines.first { $0.isAbout(id) })
    self.init(key, stored: RefundSource.fields.map { $0.value(source) })
  }

  /// The value of a column.
  public subscript(column: String) -> FieldValue {
    RefundFields.places[column].map { values[$0] } ?? .none
  }

  public var transactionId: String { self["transaction_id"].text ?? "" }
  public var uuid: String { self["notification_uuid"].text ?? "" }
  public var request: NotificationUUID {
    NotificationUUID(uuid) ?? NotificationUUID(high: 0, low: 0)
  }
  /// Milliseconds since 1970.
  public var deadline: Int64 { self["deadline_ms"].integer ?? 0 }
  /// As of `RefundRequest`, milliseconds since 1970.
  public var dueAt: Int64 { RefundRequest.dueAt(deadline) }
  public var state: RefundRequest.State? { self["state"].text.flatMap(RefundRequest.State.init) }

  /// As it is at a time, milliseconds since 1970: the view `refund_request_v1` says the same.
  public func shown(at now: Int64) -> RefundLine {
    var shown = self
    if state == .waiting, now >= deadline {
      shown.set("state", .text(RefundRequest.State.missed.rawValue))
    }
    let end = (self["requested_at_ms"].integer ?? 0).advanced(orBoundBy: RefundRequest.untoldAfter)
    if self["outcome"] == .none, self["source"].text == EventSource.v1.rawValue, now >= end {
      shown.set("outcome", .text(RefundLine.untold))
    }
    return shown
  }

  private mutating func set(_ column: String, _ value: FieldValue) {
    if let place = RefundFields.places[column] { values[place] = value }
  }

  /// Version 1 never tells a decline.
  public static let untold = "untold"
}

/// A field of a request for a refund. `all` is the only list of them: the JSON and its schema, the
/// columns of `refund_request_v1`, and the table of a projection follow from it.
public typealias RefundField = Field<RefundLine>

extension RefundField {
  /// All of them, in the order of the contract.
  public static var all: [RefundField] { RefundFields.all }

  /// What a projection stores.
  public static var stored: ArraySlice<RefundField> { all[KeyFields.all.count...] }
}

private enum RefundFields {
  static let all =
    KeyFields.all.map { field in RefundField(field) { field.value($0.key) } }
    + RefundSource.fields.enumerated().map { index, field in
      RefundField(field) { $0.values[KeyFields.all.count + index] }
    }
  static let places = Dictionary(
    all.enumerated().map { ($1.column, $0) }, uniquingKeysWith: { one, _ in one })
}

/// What a line is made of.
private struct RefundSource: Sendable {
  let request: RefundRequest
  /// As it is known now.
  let transaction: Transaction?
  let purchase: TransactionLine?

  fileprivate typealias Line = Field<RefundSource>

  /// In the order of the contract.
  static let fields = request + purchase + decision + outcome

  private static let request = [
    Line(
      "transaction_id", .text, isRequired: true,
      "The transaction that the customer wants the money back for."
    ) { .text($0.request.transactionId) },
    Line(
      "notification_uuid", .text, isRequired: true, "Of the notification by which Apple asked."
    ) { .text($0.request.uuid.description) },
    Line("source", .oneOf(["v2", "v1"]), isRequired: true, "The version of that notification.") {
      .text(($0.request.isV1 ? EventSource.v1 : .v2).rawValue)
    },
    Line(
      "reason", .text,
      "Why the customer asks: \(ValueDescriptions.requestReason.list). Version 1 does not say it."
    ) { .of($0.request.reason) },
    Line(
      "state", .oneOf(RefundRequest.State.allCases.map(\.rawValue)), isRequired: true,
      "waiting: nothing is decided yet. answered: Apple took what was sent. declined_to_answer: it "
        + "was decided that nothing is sent. refused: Apple refused what was sent. missed: the "
        + "deadline passed before. closed: Apple's decision came first."
    ) { .text($0.request.state(at: .min).rawValue) },
    Line(
      "exclusion", .oneOf(ConsumptionInformation.exclusions.map(\.rawValue)),
      "Why Subledger sends nothing whatever is decided, so that you answer it yourself: "
        + "family_shared and assigned, of which Apple wants no answer, or advanced_commerce, for "
        + "which another call is."
    ) { source in
      .of(source.transaction.flatMap(ConsumptionInformation.exclusion)?.rawValue)
    },
    Line(
      "requested_at", .time, isRequired: true,
      "When Apple asked: when it was received, or signed if that is earlier."
    ) { .integer($0.request.openedAt) },
    Line("deadline", .time, isRequired: true, "Twelve hours later, when Apple decides.") {
      .integer($0.request.deadline)
    },
  ]

  private static let purchase =
    [
      "product_id", "product_type", "purchased_at", "price.milliunits", "price.currency",
      "app_account_token", "app_transaction_id",
    ].flatMap { name in
      TransactionField.all.filter { $0.name == name }.map { field in
        Line(field) { $0.purchase.map(field.value) ?? .none }
      }
    }

  private static let decision = [
    Line(
      "customer_consented", .flag, "What your backend said last of the customer's consent, with it."
    ) { .of($0.request.word?.customerConsented) },
    Line(
      "delivery_status", .oneOf(ConsumptionInformation.Delivery.allCases.map(\.rawValue)),
      "Whether it was delivered, as your backend said last."
    ) { .of($0.request.word?.delivery?.rawValue) },
    Line("sample_content_provided", .flag, "Whether there was a sample, as it said last.") {
      .of($0.request.word?.sampleContentProvided)
    },
    Line(
      "consumption_percentage", .integer,
      "How much was used, as it said last, in thousandths of a percent."
    ) { .of($0.request.word?.consumptionPercentage) },
    Line(
      "refund_preference", .oneOf(RefundPreference.allCases.map(\.rawValue)),
      "What it wants; null: the policies decide."
    ) { .of($0.request.word?.preference?.rawValue) },
    Line(
      "withheld", .text,
      "Why nothing is sent: no_consent, silent (it was so decided), or a rule of Apple's."
    ) { .of($0.request.withholding?.name) },
    Line(
      "policy", .text, "The policy that decided; null if your backend did, or nothing is decided."
    ) { .of($0.request.decidingPolicy) },
    Line("sent_at", .time, "When Apple was last told.") { .of($0.request.sendings.last?.at) },
    Line("sent_preference", .text, "The refundPreference that Apple was last told; null: none.") {
      .of($0.request.sendings.last?.information.preference?.rawValue)
    },
    Line("sent_delivery_status", .text, "The deliveryStatus that Apple was last told.") {
      .of($0.request.sendings.last?.information.delivery.rawValue)
    },
    Line(
      "sent_sample_content_provided", .flag, "The sampleContentProvided that Apple was last told."
    ) { .of($0.request.sendings.last?.information.sampleContentProvided) },
    Line(
      "sent_consumption_percentage", .integer,
      "The consumptionPercentage that Apple was last told; null: none."
    ) { .of($0.request.sendings.last?.information.consumptionPercentage) },
    Line(
      "answer", .text, "What Apple last answered: accepted, refused, or failed; null: not known."
    ) { .of($0.request.sendings.last?.answer?.name) },
    Line("answer_code", .integer, "Apple's code of a refusal; null if it gave none.") {
      .of($0.request.sendings.last?.answer?.code)
    },
  ]

  private static let outcome = [
    Line(
      "outcome", .oneOf(RefundRequest.Outcome.names + [RefundLine.untold]),
      "What Apple decided; reversed: refunded, and charged again. untold: version 1 never tells a "
        + "decline, and 48 hours have passed."
    ) { .of($0.request.outcome?.name) },
    Line("outcome_at", .time, "When Apple decided.") { .of($0.request.outcomeAt) },
    Line(
      "revocation_type", .text,
      "Apple's revocationType: \(ValueDescriptions.revocationType.list)."
    ) {
      if case .refunded(let type, _) = $0.request.outcome { .of(type) } else { .none }
    },
    Line(
      "revocation_percentage", .integer,
      "The share of the price that was given back, in thousandths of a percent."
    ) {
      if case .refunded(_, let share) = $0.request.outcome { .of(share) } else { .none }
    },
    Line(
      "refunded", .integer, column: "refunded_milliunits",
      "How much was given back, in thousandths of the currency's unit; null if that is not known."
    ) {
      if case .refunded = $0.request.outcome {
        $0.purchase?["refunded_milliunits"] ?? .none
      } else {
        .none
      }
    },
  ]
}

extension RefundRequest.Outcome {
  public static let names = ["refunded", "declined", "reversed"]

  /// For rows and answers.
  public var name: String {
    switch self {
    case .refunded: Self.names[0]
    case .declined: Self.names[1]
    case .reversed: Self.names[2]
    }
  }
}

extension ConsumptionInformation {
  /// The rules that refuse whatever is said.
  fileprivate static let exclusions: [Rule] = [.familyShared, .assigned, .advancedCommerce]
}
