import StrictJSON

/// How the service behaves; `POST /control` changes it.
struct Behaviour: Sendable {
  /// What the entries of a subscription status are like.
  enum Status: String, CaseIterable {
    case plain, unknown, twice
    case withoutRenewal = "without-renewal"
  }

  /// How every attempt to send ends, without being made; nil if they are made.
  var outage: String?
  var scramble = false
  var duplicates = false
  var lateItem = false
  var emptyLastPage = false
  var lastToken = false
  var variedAttempts = false
  var status = Status.plain
  /// Milliseconds that the service's clock is ahead.
  var clockSkew: Int64 = 0
  /// Whether a 401 has the text `Unauthenticated`, or no body.
  var explains401 = true
  var neverReleased = false
  /// Milliseconds of the simulated clock.
  var tokenLifetime: Int64 = 3_600_000
  /// Within which time Apple's limits are enforced.
  var limits = RateLimits.Window.hour
  /// The status that verifyReceipt answers, whatever the receipt is; nil if it judges.
  var receiptStatus: Int64?
  /// Whether such a status of an internal error may change.
  var receiptRetryable = true
  /// The secret without which verifyReceipt judges no subscription; nil for none.
  var receiptSecret: String?
  /// Whether an extension is answered with success.
  var extends = true
  var faults: [Fault] = []

  /// Takes over all members of a control document, or none.
  ///
  /// - Returns: how far the simulated clock is to be advanced, in milliseconds.
  /// - Throws: `ControlError` that names the first member that is refused.
  mutating func apply(_ document: JSONElement) throws(ControlError) -> Int64 {
    guard document.kind == .object else { throw ControlError("must be a JSON object") }
    var changed = self
    var advance: Int64 = 0
    for (name, value) in document.members {
      if name == "advance" {
        advance = try ControlError.whole(name, value)
      } else {
        try changed.set(name, value)
      }
    }
    self = changed
    return advance
  }

  /// The members that are true or false.
  private static let flags: [String: any WritableKeyPath<Behaviour, Bool> & Sendable] = [
    "scramble": \.scramble, "duplicates": \.duplicates, "lateItem": \.lateItem,
    "emptyLastPage": \.emptyLastPage, "lastToken": \.lastToken,
    "variedAttempts": \.variedAttempts, "explains401": \.explains401,
    "neverReleased": \.neverReleased, "receiptRetryable": \.receiptRetryable,
    "extends": \.extends,
  ]

  private mutating func set(_ name: String, _ value: JSONElement) throws(ControlError) {
    if let flag = Self.flags[name] {
      self[keyPath: flag] = try ControlError.flag(name, value)
      return
    }
    switch name {
    case "notify": outage = try Self.outage(value)
    case "status": status = try ControlError.choice(name, value)
    case "clockSkew":
      guard let skew = value.integer else { throw ControlError("clockSkew must be a number") }
      clockSkew = skew
    case "tokenLifetime": tokenLifetime = try ControlError.whole(name, value)
    case "limits": limits = try ControlError.choice(name, value)
    case "receiptStatus":
      receiptStatus = value.kind == .null ? nil : try ControlError.whole(name, value)
    case "receiptSecret":
      guard value.kind == .null || value.string != nil else {
        throw ControlError("receiptSecret must be a text or null")
      }
      receiptSecret = value.string
    case "faults":
      var faults: [Fault] = []
      for element in value.elements { faults.append(try Fault(element)) }
      self.faults = faults
    default: throw ControlError("unknown member \(name)")
    }
  }

  /// True sends, false fails as if nobody listened, and a text is the result of each attempt.
  private static func outage(_ value: JSONElement) throws(ControlError) -> String? {
    if let flag = value.boolean { return flag ? nil : "NO_RESPONSE" }
    guard let result = value.string else {
      throw ControlError("notify must be true, false or a sendAttemptResult")
    }
    return result
  }

  /// Counts down the first fault that affects a request, and returns it.
  mutating func takeFault(_ path: String, _ environment: String) -> Fault? {
    guard let index = faults.firstIndex(where: { $0.affects(path, environment) }) else {
      return nil
    }
    let fault = faults[index]
    if let count = fault.count { faults[index].count = count - 1 }
    return fault
  }
}
