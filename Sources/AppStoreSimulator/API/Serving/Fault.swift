import StrictJSON

/// One fault of the service, which replaces or damages answers.
struct Fault: Sendable {
  enum Kind: String, CaseIterable {
    /// 401, without JSON.
    case unauthenticated
    /// The error of Apple's with the number `code`.
    case error
    /// 429, with Retry-After in the form of `retryAfter`, `wait` milliseconds from now.
    case rateLimit = "rate-limit"
    /// The whole answer comes `wait` milliseconds later.
    case delay
    /// Half of the head, or of the body, and then nothing more.
    case stalledHead = "stalled-head"
    case stalledBody = "stalled-body"
    /// The head, or the body, byte by byte, each `wait` milliseconds later.
    case slowHead = "slow-head"
    case slowBody = "slow-body"
    /// Half of the body, and then the connection ends.
    case cutBody = "cut-body"
    /// Content-Length is ten bytes less than the body has.
    case wrongLength = "wrong-length"
    case gzip
    /// A JSON body of 1 MiB and one byte.
    case oversized
    /// 302.
    case redirect
    case html503 = "html-503"
    case html200 = "html-200"
    /// Members that have another JSON type than documented.
    case wrongTypes = "wrong-types"
    /// 200 without a body.
    case empty
  }

  /// The forms of Retry-After; Apple's is `milliseconds`.
  enum RetryAfter: String {
    case milliseconds, seconds, date, absent, past, future, garbage
  }

  let kind: Kind
  var code: Int64 = 5_000_001
  var retryAfter = RetryAfter.milliseconds
  var wait: Int64 = 1000
  /// Only requests whose path begins with this.
  var path = ""
  /// Only this environment; nil for both.
  var environment: String?
  /// How many requests are left that it affects; nil for all.
  var count: Int64?

  func affects(_ path: String, _ environment: String) -> Bool {
    path.hasPrefix(self.path) && (self.environment == nil || self.environment == environment)
      && count != 0
  }

  /// - Throws: `ControlError` that names the first member that is refused.
  init(_ document: JSONElement) throws(ControlError) {
    guard let name = document["kind"]?.string, let kind = Kind(rawValue: name) else {
      throw ControlError("faults: kind must be one of \(Kind.allCases.map(\.rawValue))")
    }
    self.kind = kind
    for (name, value) in document.members {
      switch name {
      case "kind": break
      case "code":
        guard let number = value.integer, 4_000_000...5_999_999 ~= number else {
          throw ControlError("code must be a number of Apple's with seven digits")
        }
        code = number
      case "retryAfter":
        guard let form = value.string.flatMap(RetryAfter.init(rawValue:)) else {
          throw ControlError("retryAfter must name a form")
        }
        retryAfter = form
      case "wait": wait = try ControlError.whole(name, value)
      case "count": count = try ControlError.whole(name, value)
      case "path": path = try ControlError.text(name, value)
      case "environment": environment = try ControlError.text(name, value)
      default: throw ControlError("faults: unknown member \(name)")
      }
    }
  }
}

/// What is wrong with a control document.
public struct ControlError: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }

  static func whole(_ name: String, _ value: JSONElement) throws(ControlError) -> Int64 {
    guard let number = value.integer, number >= 0 else {
      throw ControlError("\(name) must be a whole number")
    }
    return number
  }

  static func text(_ name: String, _ value: JSONElement) throws(ControlError) -> String {
    guard let text = value.string else { throw ControlError("\(name) must be a text") }
    return text
  }

  static func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String, _ value: JSONElement
  ) throws(ControlError) -> Choice {
    guard let choice = value.string.flatMap(Choice.init(rawValue:)) else {
      throw ControlError("\(name) must be one of \(Choice.allCases.map(\.rawValue))")
    }
    return choice
  }

  static func flag(_ name: String, _ value: JSONElement) throws(ControlError) -> Bool {
    guard let flag = value.boolean else { throw ControlError("\(name) must be true or false") }
    return flag
  }
}
