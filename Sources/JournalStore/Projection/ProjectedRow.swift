import Encoding

/// One entitlement on its way into a projection.
public struct ProjectedRow: Sendable, Equatable {
  public var key: StreamKey
  /// The fold's own bytes, the same in every order of arrival.
  public var state: [UInt8]
  /// The place in the journal of the event that the state calls the last.
  public var lastSeq: Int64?
  public var appAccountTokens: [String]
  public var appTransactionIds: [String]
  /// The ids this one ever said to succeed.
  public var previousOriginalTransactionIds: [String]
  /// Why a fold failed, where one did (promise 9).
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

  /// What a row is found by, in the order of the token table's kinds.
  public var lists: [[String]] {
    [appAccountTokens, appTransactionIds, previousOriginalTransactionIds]
  }

  /// Whether it is found by the same ids, and broken or not alike.
  public func isFound(as other: ProjectedRow) -> Bool {
    lists == other.lists && broken == other.broken
  }

  /// The lists, each text with its length before it.
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

  /// Reads what `tokens` wrote; nil for anything else.
  static func lists(_ tokens: [UInt8]) -> [[String]]? {
    var rest = tokens[...]
    var lists: [[String]] = []
    for _ in 0..<3 {
      guard let count = VarInt.take(&rest), count <= rest.count else { return nil }
      var list: [String] = []
      for _ in 0..<count {
        guard let size = VarInt.take(&rest), size <= rest.count else { return nil }
        list.append(String(decoding: rest.prefix(size), as: UTF8.self))
        rest = rest.dropFirst(size)
      }
      lists.append(list)
    }
    return rest.isEmpty ? lists : nil
  }
}
