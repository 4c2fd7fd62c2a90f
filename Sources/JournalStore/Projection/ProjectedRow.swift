public import AppStore
import Encoding

/// One row of a projection: the entitlement of one stream.
public struct ProjectedRow: Sendable, Equatable {
  public var key: StreamKey
  /// The state as the fold encodes it, which is the same for any order of arrival (promise 6).
  public var state: [UInt8]
  /// The seq of the event that the state names as the last one.
  public var lastSeq: Int64?
  public var appAccountTokens: [String]
  public var appTransactionIds: [String]
  /// The original transaction ids that this subscription has named as its predecessors.
  public var previousOriginalTransactionIds: [String]
  /// Why the fold failed, or nil if it did not (promise 9).
  public var broken: String?

  public init(
    key: StreamKey, state: [UInt8], lastSeq: Int64? = nil, appAccountTokens: [String] = [],
    appTransactionIds: [String] = [], previousOriginalTransactionIds: [String] = [],
    broken: String? = nil
  ) {
    self.key = key
    self.state = state
    self.lastSeq = lastSeq
    self.appAccountTokens = appAccountTokens
    self.appTransactionIds = appTransactionIds
    self.previousOriginalTransactionIds = previousOriginalTransactionIds
    self.broken = broken
  }

  /// The ids by which the row can be found, in the order of the kinds of the table `token`.
  public var lists: [[String]] {
    [appAccountTokens, appTransactionIds, previousOriginalTransactionIds]
  }

  /// Whether the rows can be found by the same ids and are broken for the same reason.
  public func isFound(as other: ProjectedRow) -> Bool {
    lists == other.lists && broken == other.broken
  }

  /// The encoded `lists`: each list with its count, each text with its length before it.
  var tokens: [UInt8] {
    var bytes: [UInt8] = []
    for list in lists {
      VarInt.append(list.count, to: &bytes)
      for token in list {
        VarInt.append(token.utf8.count, to: &bytes)
        bytes.append(contentsOf: token.utf8)
      }
    }
    return bytes
  }

  /// Decodes `tokens`. Returns nil if the bytes are damaged.
  static func lists(_ tokens: [UInt8]) -> [[String]]? {
    var rest = tokens[...]
    var lists: [[String]] = []
    for _ in 0..<3 {
      guard let count = VarInt.read(&rest), count <= rest.count else { return nil }
      var list: [String] = []
      for _ in 0..<count {
        guard let size = VarInt.read(&rest), size <= rest.count else { return nil }
        list.append(String(decoding: rest.prefix(size), as: UTF8.self))
        rest = rest.dropFirst(size)
      }
      lists.append(list)
    }
    return rest.isEmpty ? lists : nil
  }
}
