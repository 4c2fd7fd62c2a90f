import Encoding

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

  /// By UTF-8 bytes as in SQL: `String` also takes two spellings of one accent for the same, and
  /// one customer's state must never be another's.
  public static func == (left: StreamKey, right: StreamKey) -> Bool {
    ByteSearch.areEqual(left.originalTransactionId, right.originalTransactionId)
      && ByteSearch.areEqual(left.environment.rawValue, right.environment.rawValue)
      && ByteSearch.areEqual(left.bundleId, right.bundleId)
  }

  /// Key order: original transaction id, environment, bundle id, each by UTF-8 bytes as in SQL.
  public static func < (left: StreamKey, right: StreamKey) -> Bool {
    for part in [\StreamKey.originalTransactionId, \.environment.rawValue, \.bundleId] {
      if precedes(left[keyPath: part], right[keyPath: part]) { return true }
      if precedes(right[keyPath: part], left[keyPath: part]) { return false }
    }
    return false
  }

  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
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
