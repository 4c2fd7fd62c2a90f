public import StrictJSON

/// One thing that `Doctor` examined.
public struct DoctorCheck: Sendable {
  /// The subject, for example `disk`.
  public let topic: String
  /// What was found.
  public let what: String
  /// What to do about it; nil if nothing is wrong.
  public let next: String?
  /// Whether data was found that a newer version made.
  public let isNewer: Bool

  /// Whether something is wrong.
  public var isFinding: Bool { next != nil }

  /// - Parameter next: what to do about it; nil if nothing is wrong.
  public init(_ topic: String, _ what: String, next: String? = nil, isNewer: Bool = false) {
    self.topic = topic
    self.what = what
    self.next = next
    self.isNewer = isNewer
  }

  /// The check as `doctor --json` shows it.
  public var json: JSONValue {
    .object([
      ("object", .string("check")), ("topic", .string(topic)), ("finding", .boolean(isFinding)),
      ("what", .string(what)), ("next", .optional(next)),
    ])
  }
}
