/// The key of a stream and of its entitlement.
public struct StreamKey: Sendable, Hashable, Comparable {
  /// `Production` or `Sandbox`.
  public let environment: String
  public let bundleId: String
  public let originalTransactionId: String

  public init(environment: String, bundleId: String, originalTransactionId: String) {
    self.environment = environment
    self.bundleId = bundleId
    self.originalTransactionId = originalTransactionId
  }

  /// Key order: original transaction id, environment, bundle id, each by UTF-8 bytes as in SQL.
  public static func < (left: StreamKey, right: StreamKey) -> Bool {
    if left.originalTransactionId != right.originalTransactionId {
      return precedes(left.originalTransactionId, right.originalTransactionId)
    }
    if left.environment != right.environment {
      return precedes(left.environment, right.environment)
    }
    return precedes(left.bundleId, right.bundleId)
  }

  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}

/// An event as it was journaled. Times are milliseconds since 1970 UTC, hashes 32 bytes.
public struct StoredEvent: Sendable, Equatable {
  public let seq: Int64
  public let notificationUUID: String
  public let source: String
  public let environment: String
  public let bundleId: String
  public let notificationType: String
  public let subtype: String?
  public let originalTransactionId: String?
  public let signedDate: Int64
  public let receivedAt: Int64
  /// The exact bytes the chain covers.
  public let body: [UInt8]
  public let bodySHA256: [UInt8]
  public let hash: [UInt8]

  /// nil for an event that is about no transaction.
  public var streamKey: StreamKey? {
    originalTransactionId.map {
      StreamKey(environment: environment, bundleId: bundleId, originalTransactionId: $0)
    }
  }
}

/// Which events to list; nil takes all. Ranges include both ends, in milliseconds since 1970 UTC.
public struct EventFilter: Sendable {
  public var notificationType: String?
  public var subtype: String?
  public var source: String?
  public var environment: String?
  public var bundleId: String?
  public var originalTransactionId: String?
  public var received: ClosedRange<Int64>?
  public var signed: ClosedRange<Int64>?

  public init() {}
}

/// A notification in quarantine.
public struct StoredQuarantine: Sendable, Equatable {
  public let id: Int64
  public let reason: String
  public let isForeign: Bool
  public let source: String
  public let notificationUUID: String?
  public let environment: String?
  public let bundleId: String?
  public let notificationType: String?
  public let signedDate: Int64?
  public let receivedAt: Int64
  /// Empty where it cannot be recovered.
  public let body: [UInt8]
  public let bodySHA256: [UInt8]
}
