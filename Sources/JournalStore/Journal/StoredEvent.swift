import Encoding
import SignedData

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

  /// By UTF-8 bytes as in SQL: `String` also takes two spellings of one accent for the same, and
  /// one customer's state must never be another's.
  public static func == (left: StreamKey, right: StreamKey) -> Bool {
    ByteSearch.areEqual(left.originalTransactionId, right.originalTransactionId)
      && ByteSearch.areEqual(left.environment, right.environment)
      && ByteSearch.areEqual(left.bundleId, right.bundleId)
  }

  /// Key order: original transaction id, environment, bundle id, each by UTF-8 bytes as in SQL.
  public static func < (left: StreamKey, right: StreamKey) -> Bool {
    for part in [\StreamKey.originalTransactionId, \.environment, \.bundleId] {
      if precedes(left[keyPath: part], right[keyPath: part]) { return true }
      if precedes(right[keyPath: part], left[keyPath: part]) { return false }
    }
    return false
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

  package init(
    seq: Int64, notificationUUID: String, source: String, environment: String, bundleId: String,
    notificationType: String, subtype: String?, originalTransactionId: String?, signedDate: Int64,
    receivedAt: Int64, body: [UInt8], bodySHA256: [UInt8], hash: [UInt8]
  ) {
    self.seq = seq
    self.notificationUUID = notificationUUID
    self.source = source
    self.environment = environment
    self.bundleId = bundleId
    self.notificationType = notificationType
    self.subtype = subtype
    self.originalTransactionId = originalTransactionId
    self.signedDate = signedDate
    self.receivedAt = receivedAt
    self.body = body
    self.bodySHA256 = bodySHA256
    self.hash = hash
  }

  /// The same for those who keep many and read none.
  public var withoutBody: StoredEvent {
    StoredEvent(
      seq: seq, notificationUUID: notificationUUID, source: source, environment: environment,
      bundleId: bundleId, notificationType: notificationType, subtype: subtype,
      originalTransactionId: originalTransactionId, signedDate: signedDate, receivedAt: receivedAt,
      body: [], bodySHA256: bodySHA256, hash: hash)
  }

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
