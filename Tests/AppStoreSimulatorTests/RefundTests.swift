import Platform
import StrictJSON
import Support
import Testing

@testable import AppStoreSimulator

/// Requests for refunds: what customers ask, what Apple refuses to be told, and how it decides.
@Suite struct RefundTests {
  private static let all: Int64 = 100_000
  private static let told =
    #""customerConsented":true,"deliveryStatus":"DELIVERED","sampleContentProvided":false"#

  private static func fleet(_ refunds: Double? = 0.3) -> Fleet {
    var fleet = Fleet(
      app: SimulatedApp(), customers: 300, days: 400, end: LifecycleTests.end, seed: 11)
    fleet.refunds = refunds
    return fleet
  }

  private static func answer(
    _ body: String, about transaction: [(String, JSONValue)], at moment: Int64 = 0
  ) throws -> RefundAnswer {
    let root = try JSONDocument(parsing: Array("{\(body)}".utf8)).root
    return try RefundAnswer(root, about: .object(transaction), at: moment)
  }

  private static func purchase(
    _ kind: Product.Kind = .consumable, _ ownership: String = "PURCHASED"
  ) -> [(String, JSONValue)] {
    [("type", .string(kind.rawValue)), ("inAppOwnershipType", .string(ownership))]
  }

  // MARK: What customers ask

  @Test func `customers ask about every type of product, for every documented reason`() throws {
    let fleet = Self.fleet()
    let requests = fleet.refundRequests()
    let members = requests.map(\.json)
    #expect(
      Set(members.compactMap { $0.text("consumptionRequestReason") })
        == Set(RefundRequest.Reason.allCases.map(\.rawValue)))
    let kinds: [Product.Kind] = [.autoRenewable, .consumable, .nonConsumable, .nonRenewing]
    #expect(Set(members.compactMap { $0.text("type") }) == Set(kinds.map(\.rawValue)))
    for request in requests { #expect(request.asked.transaction?.number("price") ?? 0 > 0) }
    for notification in fleet.notifications() { try LifecycleTests.check(notification) }
  }

  @Test func `each request is decided from twelve to fifteen hours after it`() throws {
    let decided = Self.fleet().refundRequests().filter { !$0.outcomes.isEmpty }
    for request in decided {
      let hour = CivilTime.hour
      let waited = request.outcomes[0].signedDate - request.asked.signedDate
      #expect(12 * hour < waited && waited < 15 * hour + 10_000)
      let types = request.outcomes.map(\.type)
      #expect([["REFUND"], ["REFUND_DECLINED"], ["REFUND", "REFUND_REVERSED"]].contains(types))
    }
    let first = decided.map { $0.outcomes[0] }
    let percentages = first.map { $0.transaction?.number("revocationPercentage") }
    #expect(percentages.contains(Self.all) && percentages.contains(50_000))
    #expect(first.contains { $0.type == "REFUND_DECLINED" })
    #expect(decided.contains { $0.outcomes.count == 2 })
    // A refund for an issue of the app has another reason than one by accident.
    for request in decided where request.outcomes[0].type == "REFUND" {
      let reason = request.json.text("consumptionRequestReason") ?? ""
      let isIssue = ["FULFILLMENT_ISSUE", "UNSATISFIED_WITH_PURCHASE"].contains(reason)
      #expect(
        request.outcomes[0].transaction?.number("revocationReason") == (isIssue ? 1 : 0))
    }
  }

  @Test func `the same seed gives the same stream, and no request without a share`() {
    let streams = [Self.fleet(), Self.fleet()].map { $0.notifications().map(\.payload.text) }
    #expect(streams[0] == streams[1])
    #expect(Self.fleet(0).refundRequests().isEmpty)
  }

  @Test func `an answer changes only what is signed after it, about its customer`() throws {
    var fleet = Self.fleet()
    let untold = fleet.notifications()
    let request = try #require(fleet.refundRequests().first { $0.outcomes[0].type == "REFUND" })
    let id = try #require(request.json.text("transactionId"))
    let customer = try #require(request.asked.appTransactionId)
    let moment = request.asked.signedDate + RefundRequest.answerTime
    let declined = Self.told + #","refundPreference":"DECLINE""#
    // A moment later it does not count.
    fleet.answers[id] = [try Self.answer(declined, about: Self.purchase(), at: moment + 1)]
    #expect(fleet.notifications().map(\.payload.text) == untold.map(\.payload.text))
    fleet.answers[id] = [try Self.answer(declined, about: Self.purchase(), at: moment)]
    let told = fleet.notifications()
    let before = { (list: [SimulatedNotification]) in
      list.filter { $0.signedDate <= moment || $0.appTransactionId != customer }
        .map(\.payload.text)
    }
    #expect(before(told) == before(untold))
    #expect(told.map(\.payload.text) != untold.map(\.payload.text))
    let found = fleet.refundRequests().first { $0.asked.uuid == request.asked.uuid }
    #expect(found?.outcomes.map(\.type) == ["REFUND_DECLINED"])
  }

  @Test func `an answer belongs to the newest request about its purchase`() throws {
    var fleet = Self.fleet()
    let repeated = try #require(
      Dictionary(grouping: fleet.refundRequests()) { $0.json.text("transactionId") ?? "" }
        .first { $0.value.count > 1 && !$0.value[1].outcomes.isEmpty })
    let second = repeated.value[1].asked.signedDate
    let full = Self.told + #","refundPreference":"GRANT_FULL""#
    fleet.answers[repeated.key] = [
      try Self.answer(full, about: Self.purchase(), at: second)
    ]
    let requests = fleet.refundRequests().filter { $0.json.text("transactionId") == repeated.key }
    #expect(requests.map(\.answers.count).prefix(2) == [0, 1])
    #expect(requests[0].outcomes.map(\.type) == ["REFUND_DECLINED"])
    #expect(requests[1].outcomes[0].type == "REFUND")
  }

  // MARK: What is told

  @Test(
    arguments: [
      (#","refundPreference":"GRANT_FULL""#, nil, 100_000),
      (#","refundPreference":"DECLINE""#, nil, nil),
      (#","refundPreference":"GRANT_PRORATED","consumptionPercentage":67932"#, nil, 32_068),
      (#","refundPreference":"GRANT_PRORATED""#, 40_000, 40_000),
      (#","refundPreference":"DECLINE","consumptionPercentage":0"#, nil, nil),
      (#","consumptionPercentage":30000"#, nil, 70_000),
      (#","consumptionPercentage":0"#, nil, 100_000),
      (#","consumptionPercentage":100000"#, nil, nil), ("", nil, 100_000), ("", 40_000, 100_000),
    ] as [(String, Int64?, Int64?)])
  func `what was told decides`(_ more: String, _ left: Int64?, _ granted: Int64?) throws {
    let kind = left == nil ? Product.Kind.consumable : .autoRenewable
    let answer = try Self.answer(Self.told + more, about: Self.purchase(kind))
    #expect(answer.decision(left: left) == granted)
  }

  @Test func `what was not delivered is refunded, and a sample declines`() throws {
    let declined = #","refundPreference":"DECLINE""#
    for status in ["QUALITY_ISSUE", "WRONG_ITEM", "SERVER_OUTAGE", "OTHER"] {
      let body = Self.told.replacing("DELIVERED", with: "UNDELIVERED_" + status) + declined
      #expect(try Self.answer(body, about: Self.purchase()).decision(left: nil) == Self.all)
    }
    let sample = Self.told.replacing(#"Provided":false"#, with: #"Provided":true"#)
    #expect(try Self.answer(sample, about: Self.purchase()).decision(left: nil) == nil)
  }

  @Test(
    arguments: [
      ("", .numbered(.invalidConsent)), (#""customerConsented":false"#, .numbered(.invalidConsent)),
      (#""customerConsented":"true""#, .numbered(.invalidConsent)),
      (#""customerConsented":true"#, .numbered(.invalidDelivery)),
      (#""customerConsented":true,"deliveryStatus":0"#, .numbered(.invalidDelivery)),
      (#""customerConsented":true,"deliveryStatus":"UNDELIVERED""#, .numbered(.invalidDelivery)),
      (#""customerConsented":true,"deliveryStatus":"DELIVERED""#, .numbered(.invalidSample)),
      (told + #","refundPreference":"NO_PREFERENCE""#, .numbered(.invalidPreference)),
      (told + #","refundPreference":1"#, .numbered(.invalidPreference)),
      (told + #","refundPreference":"GRANT_PRORATED""#, .numbered(.invalidPreference)),
      (
        told + #","refundPreference":"GRANT_PRORATED","consumptionPercentage":0"#,
        .numbered(.invalidPreference)
      ),
      (
        told + #","refundPreference":"GRANT_PRORATED","consumptionPercentage":100000"#,
        .numbered(.invalidPreference)
      ),
      (told + #","consumptionPercentage":-1"#, .named("ConsumptionPercentageOutOfRangeError")),
      (told + #","consumptionPercentage":100001"#, .named("ConsumptionPercentageOutOfRangeError")),
      (told + #","consumptionPercentage":0.5"#, .named("ConsumptionPercentageOutOfRangeError")),
      (
        told.replacing("DELIVERED", with: "UNDELIVERED_OTHER") + #","consumptionPercentage":1"#,
        .named("UndeliveredConsumptionPercentageNonZeroError")
      ),
    ] as [(String, RefundAnswer.Refusal)])
  func `what Apple refuses is refused`(_ body: String, _ refusal: RefundAnswer.Refusal) {
    #expect(throws: refusal) { try Self.answer(body, about: Self.purchase(.nonRenewing)) }
  }

  @Test func `a subscription takes no percentage, and zero is one`() {
    for percentage in [0, 1] {
      let body = Self.told + #","consumptionPercentage":\#(percentage)"#
      #expect(throws: RefundAnswer.Refusal.numbered(.percentageOfSubscription)) {
        try Self.answer(body, about: Self.purchase(.autoRenewable))
      }
    }
  }

  @Test func `purchases of members and of the Advanced Commerce API are refused`() {
    let advanced = Self.purchase() + [("advancedCommerceInfo", .object([]))]
    for (purchase, refusal) in [
      (Self.purchase(.autoRenewable, "FAMILY_SHARED"), .numbered(.familyNotSupported)),
      (Self.purchase(.autoRenewable, "ASSIGNED"), .numbered(.assignedNotSupported)),
      (advanced, .named("AdvancedCommerceTransactionNotSupportedError")),
    ] as [([(String, JSONValue)], RefundAnswer.Refusal)] {
      #expect(throws: refusal) { try Self.answer(Self.told, about: purchase) }
    }
  }

  @Test func `members that are null count as absent`() throws {
    let nulls = Self.told + #","refundPreference":null,"consumptionPercentage":null"#
    let answer = try Self.answer(nulls, about: Self.purchase(.autoRenewable))
    #expect(answer.decision(left: 1) == Self.all)
  }
}
