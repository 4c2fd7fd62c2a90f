import Ledger
import Platform
import StrictJSON

/// Parses the notation of scenarios (`Fixtures/README.txt`) into the members that Apple would send.
enum ScenarioSyntax {
  /// A word that the notation does not have.
  struct Unknown: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { description = "unknown: \(text)" }
  }

  /// Milliseconds since 1970 of `25-01-31`, which means 10:00 UTC, or of `25-01-31T08:30`.
  static func date(_ text: some StringProtocol) throws -> Int64 {
    let full = text.contains("T") ? "20\(text):00Z" : "20\(text)T10:00:00Z"
    guard let date = Timestamp.parse(full) else { throw Unknown("date \(text)") }
    return date
  }

  /// The inverse of `date`.
  static func text(_ date: Int64) -> String {
    let full = Timestamp.text(date).dropFirst(2)
    if full.hasSuffix("T10:00:00Z") { return String(full.prefix(8)) }
    return full.hasSuffix(":00Z") ? String(full.dropLast(4)) : String(full)
  }

  /// The words of a text, read one by one; some words are followed by their argument.
  private struct Reader {
    var rest: ArraySlice<Substring>
    init(_ text: String) { rest = text.split(separator: " ")[...] }

    mutating func next() -> String? { rest.popFirst().map(String.init) }

    mutating func need() throws -> String {
      guard let word = next() else { throw Unknown("end of the line") }
      return word
    }

    mutating func date() throws -> Int64 { try ScenarioSyntax.date(try need()) }
  }

  // MARK: A transaction

  /// `1001 pro.m 25-02-01→25-03-01 renewed`, followed by more words.
  struct Transaction: Sendable {
    let id: String
    let product: String
    let start: Int64
    let end: Int64?
    var originalTransactionId = "1000"
    /// Further members of the V2 transaction.
    var members: [(String, JSONValue)] = []
    /// Further members of the V1 receipt entry.
    var entry: [(String, JSONValue)] = []
    var type = "Auto-Renewable Subscription"
    var ownership = "PURCHASED"
    var quantity: Int64 = 1

    init(_ text: String) throws {
      var reader = Reader(text)
      id = try reader.need()
      product = try reader.need()
      let period = try reader.need().split(separator: "→")
      start = try date(period[0])
      end = period.count > 1 ? try date(period[1]) : nil
      while let word = reader.next() { try read(word, &reader) }
    }

    private mutating func read(_ word: String, _ reader: inout Reader) throws {
      switch word {
      case "of": originalTransactionId = try reader.need()
      case "bought": members.append(("transactionReason", .string("PURCHASE")))
      case "renewed": members.append(("transactionReason", .string("RENEWAL")))
      case "family": ownership = "FAMILY_SHARED"
      case "seat": ownership = "ASSIGNED"
      case "owned": ownership = try reader.need()
      case "consumable":
        type = "Consumable"
        quantity = Int64(try reader.need()) ?? 1
      case "non-consumable": type = "Non-Consumable"
      case "non-renewing": type = "Non-Renewing Subscription"
      case "refunded", "unshared", "unassigned", "cancelled":
        let types = ["unshared": "FAMILY_REVOKE", "unassigned": "ASSIGNMENT_REVOKE"]
        readRevocation(at: try reader.date(), as: types[word])
      case "revoked": readRevocation(at: try reader.date(), as: try reader.need())
      case "prorated":
        members.append(("revocationType", .string("REFUND_PRORATED")))
        members.append(("revocationPercentage", .number(try reader.need())))
      case "upgraded":
        members.append(("isUpgraded", .boolean(true)))
        entry.append(("is_upgraded", .string("true")))
      case "month": try readCommitment(&reader)
      default: try readOffer(word, &reader)
      }
    }

    private mutating func readRevocation(at date: Int64, as type: String?) {
      members.append(("revocationDate", .integer(date)))
      members.append(("revocationReason", .integer(0)))
      if let type { members.append(("revocationType", .string(type))) }
      entry.append(("cancellation_date_ms", .string(String(date))))
      entry.append(("cancellation_reason", .string("0")))
    }

    /// `month 3 of 12 to 26-01-01`
    private mutating func readCommitment(_ reader: inout Reader) throws {
      let period = Int64(try reader.need()) ?? 0
      _ = try reader.need()
      let periods = Int64(try reader.need()) ?? 0
      _ = try reader.need()
      members.append(("billingPlanType", .string("MONTHLY")))
      members.append(
        (
          "commitmentInfo",
          .object([
            ("billingPeriodNumber", .integer(period)), ("totalBillingPeriods", .integer(periods)),
            ("commitmentExpiresDate", .integer(try reader.date())),
            ("commitmentPrice", .integer(59_880)),
          ])
        ))
    }

    private mutating func readOffer(_ word: String, _ reader: inout Reader) throws {
      switch word {
      case "trial":
        members.append(("offerType", .integer(1)))
        members.append(("offerDiscountType", .string("FREE_TRIAL")))
        entry.append(("is_trial_period", .string("true")))
      case "promo", "code", "win-back", "retention", "offer":
        let types: [String: Int64] = ["promo": 2, "code": 3, "win-back": 4, "retention": 5]
        let type = try types[word] ?? Int64(try reader.need()) ?? 0
        let name = try reader.need()
        members.append(("offerType", .integer(type)))
        members.append(("offerIdentifier", .string(name)))
        let member = word == "promo" ? "promotional_offer_id" : "offer_code_ref_name"
        entry.append((member, .string(name)))
      default: throw Unknown(word)
      }
    }
  }

  // MARK: The renewal

  /// `renews pro.m 25-03-01` or `ends …`, followed by more words.
  struct Renewal: Sendable {
    let renews: Bool
    let next: String
    let product: String
    let date: Int64?
    var members: [(String, JSONValue)] = []
    var entry: [(String, JSONValue)] = []
    /// V1 only: when the auto-renew status was changed.
    var changed: Int64?

    init(_ text: String, _ transaction: Transaction?) throws {
      var reader = Reader(text)
      renews = try reader.need() == "renews"
      next = try reader.need()
      product = transaction?.product ?? next
      var date: Int64?
      if let word = reader.rest.first, let given = try? ScenarioSyntax.date(word) {
        date = given
        _ = reader.next()
      }
      self.date = date
      while let word = reader.next() { try read(word, &reader) }
    }

    private mutating func read(_ word: String, _ reader: inout Reader) throws {
      switch word {
      case "retrying", "given-up":
        members.append(("isInBillingRetryPeriod", .boolean(word == "retrying")))
        entry.append(("is_in_billing_retry_period", .string(word == "retrying" ? "1" : "0")))
      case "grace":
        let end = try reader.date()
        members.append(("gracePeriodExpiresDate", .integer(end)))
        entry.append(("grace_period_expires_date_ms", .string(String(end))))
      case "because":
        let names = ["cancelled", "billing", "price", "withdrawn", "other"]
        guard let code = names.firstIndex(of: try reader.need()) else { throw Unknown(word) }
        members.append(("expirationIntent", .integer(Int64(code + 1))))
        entry.append(("expiration_intent", .string(String(code + 1))))
      case "asked", "agreed":
        members.append(("priceIncreaseStatus", .integer(word == "asked" ? 0 : 1)))
        entry.append(("price_consent_status", .string(word == "asked" ? "0" : "1")))
      case "commitment":
        let status: Int64 = try reader.need() == "renews" ? 1 : 0
        members.append(
          ("commitmentInfo", .object([("commitmentAutoRenewStatus", .integer(status))])))
      case "changed": changed = try reader.date()
      case "offer", "retention":
        members.append(("offerType", .integer(word == "offer" ? 2 : 5)))
        members.append(("offerIdentifier", .string(try reader.need())))
      default: throw Unknown(word)
      }
    }
  }
}
