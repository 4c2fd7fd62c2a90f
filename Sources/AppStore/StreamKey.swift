import Platform

/// The key of a stream and of its entitlement.
public struct StreamKey: Sendable, Hashable, Comparable {
  public let environment: Environment
  public let bundleId: String
  public let originalTransactionId: String

  public init(environment: Environment, bundleId: String, originalTransactionId: String) {
    self.environment = environment
    self.bundleId = bundleId
    self.originalTransactionId = originalTransactionId
  }

  /// A stream of the same app.
  public func stream(_ originalTransactionId: String) -> StreamKey {
    StreamKey(
      environment: environment, bundleId: bundleId, originalTransactionId: originalTransactionId)
  }

  /// By UTF-8 bytes as in SQL: `String` also takes two spellings of one accent for the same, and
  /// one customer's state must never be another's.
  public static func == (left: StreamKey, right: StreamKey) -> Bool {
    ByteSearch.areEqual(left.originalTransactionId, right.originalTransactionId)
      && ByteSearch.areEqual(left.environment.rawValue, right.environment.rawValue)
      && ByteSearch.areEqual(left.bundleId, right.bundleId)
  }

  /// Key order: original transaction id, environment, bundle id, each by UTF-8 bytes as in SQL.
  public static func < (left: StreamKey, right: StreamKey) -> Bool {
    if let first = precedes(left.originalTransactionId, right.originalTransactionId) {
      return first
    }
    return precedes(left.environment.rawValue, right.environment.rawValue)
      ?? precedes(left.bundleId, right.bundleId) ?? false
  }

  /// Nil if both are equal.
  private static func precedes(_ left: String, _ right: String) -> Bool? {
    ByteSearch.areEqual(left, right) ? nil : ByteSearch.precedes(left, right)
  }
}

/// An event of one stream, or of none.
public protocol StreamEvent {
  var environment: Environment { get }
  var bundleId: String { get }
  /// Nil for an event without a transaction.
  var originalTransactionId: String? { get }
}

extension StreamEvent {
  /// Nil for an event without a transaction.
  public var streamKey: StreamKey? {
    originalTransactionId.map {
      StreamKey(environment: environment, bundleId: bundleId, originalTransactionId: $0)
    }
  }
}
