public import AppStore
public import Entitlements

/// One row of a projection: the entitlement of one stream.
public struct ProjectedRow: Sendable, Equatable {
  public var key: StreamKey
  /// With all spans, or with the `WantedSpans` it was read with.
  public var row: EntitlementRow
  /// Why the fold failed, or nil if it did not (promise 9).
  public var broken: String?

  public init(key: StreamKey, row: EntitlementRow, broken: String? = nil) {
    self.key = key
    self.row = row
    self.broken = broken
  }
}

/// Which spans of a row are read. Fewer cost less. Times are milliseconds since 1970.
public enum WantedSpans: Sendable {
  case all
  case none
  /// The one that answers at a time: the row is valid at this time alone.
  case at(Int64)
  /// That one and all later ones.
  case since(Int64)
}

/// A stream's row with the fold's state, as a projection stores them.
public struct FoldedStream: Sendable, Equatable {
  public let key: StreamKey
  public let row: EntitlementRow
  /// By when they were bought, then by their ids.
  public let lines: [TransactionLine]
  /// Requests for refunds, by their deadlines, then by their UUIDs.
  public let requests: [RefundLine]
  /// `StreamState.encoded()`, which is the same for any order of arrival (promise 6).
  public let state: [UInt8]
  /// The ids by which the row can be found, in the order of the kinds of the table `token`: app
  /// account tokens, in lower case, because an app may write a UUID in either; app transaction ids;
  /// original transaction ids of predecessors; account tokens that it was told with before.
  public let ids: [[String]]
  /// The streams that it replaced.
  public let predecessors: [Predecessor]
  /// Why the fold failed, or nil if it did not (promise 9).
  public let broken: String?

  public init(
    _ key: StreamKey, _ state: StreamState, _ requests: [RefundRequest] = [], by fold: Fold,
    broken: String? = nil
  ) {
    self.key = key
    let (row, lines, encoded) = state.folded(key, by: fold)
    (self.row, self.lines, self.state) = (row, lines, encoded)
    self.requests = requests.map { RefundLine(key, $0, state, lines) }
      .sorted { ($0.deadline, $0.uuid) < ($1.deadline, $1.uuid) }
    ids = Self.ids(state)
    predecessors = state.predecessors
    self.broken = broken
  }

  public var projected: ProjectedRow { ProjectedRow(key: key, row: row, broken: broken) }

  /// A stored row, with its state as it was unpacked; nil if the state is damaged.
  init?(
    _ stored: ProjectedRow, _ lines: [TransactionLine], _ requests: [RefundLine] = [],
    state: [UInt8]
  ) {
    guard let decoded = StreamState(decoding: state) else { return nil }
    key = stored.key
    row = stored.row
    self.lines = lines
    self.requests = requests
    self.state = state
    ids = Self.ids(decoded)
    predecessors = decoded.predecessors
    broken = stored.broken
  }

  /// All entries of the stream in the indexes that rows are looked up by.
  public var indexed: [[String]] {
    ids + [predecessors.map { "\($0.originalTransactionId) \($0.namedAt) \($0.transactionId)" }]
  }

  static func ids(_ state: StreamState) -> [[String]] {
    let tokens = state.accountTokens.map { $0.lowercased() }
    // Nearly no stream has any but those of now.
    let former = state.toldAccountTokens.map { $0.lowercased() }.filter { !tokens.contains($0) }
    return [tokens, state.appTransactionIds, state.previousOriginalTransactionIds, former]
  }
}

/// A stream as it is written: what takes time is done, on any thread.
public struct PackedStream: Sendable {
  let projected: ProjectedRow
  let lines: [TransactionLine]
  let requests: [RefundLine]
  /// `FoldedStream.ids`.
  let ids: [[String]]
  let predecessors: [Predecessor]
  /// The state, compressed.
  let state: [UInt8]
  let sums: RowSums
  let checksum: Int64
  /// The share of the row in the projection's digest.
  public let share: SetDigest
}
