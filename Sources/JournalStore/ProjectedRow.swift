/// One entitlement on its way into a projection.
public struct ProjectedRow: Sendable, Equatable {
  public var key: StreamKey
  /// The fold's own bytes.
  public var state: [UInt8]
  public var appAccountTokens: [String]
  public var appTransactionIds: [String]
  /// The id this one succeeds, where Apple named one.
  public var previousOriginalTransactionId: String?
  /// Why a fold failed, where one did (promise 9).
  public var broken: String?

  public init(
    key: StreamKey, state: [UInt8], appAccountTokens: [String] = [],
    appTransactionIds: [String] = [], previousOriginalTransactionId: String? = nil,
    broken: String? = nil
  ) {
    self.key = key
    self.state = state
    self.appAccountTokens = appAccountTokens
    self.appTransactionIds = appTransactionIds
    self.previousOriginalTransactionId = previousOriginalTransactionId
    self.broken = broken
  }

  /// Both lists, each text with its length before it.
  var tokens: [UInt8] {
    var bytes: [UInt8] = []
    for list in [appAccountTokens, appTransactionIds] {
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
    for _ in 0..<2 {
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
