public import AppStore

/// Tests write environments and sources as the texts that Apple and the journal use.
extension Environment: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(rawValue: value) }
}

extension EventSource: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(rawValue: value) }
}
