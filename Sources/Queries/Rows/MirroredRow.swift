public import AppStore
public import Entitlements
public import Platform
import Store

/// Everything that a copy of a row elsewhere needs.
public struct MirroredRow: Sendable {
  public let key: StreamKey
  /// With all spans.
  public let row: EntitlementRow
  public let succeededBy: String?
  /// Its purchases.
  public let lines: [TransactionLine]
  /// Requests for refunds of them.
  public let requests: [RefundLine]
  /// The owner's accounts that have the purchase.
  public let accounts: [String]
}

extension LedgerReader {
  /// Up to `limit` rows in key order after a key, as of all events. Nil while the live projection
  /// lacks events or is of another fold.
  ///
  /// - Throws: what SQLite reports.
  public func mirroredRows(
    after key: StreamKey?, limit: Int
  ) throws(LedgerError) -> [MirroredRow]? {
    try mirrored { (projection) throws(LedgerError) in
      try projection.streams(after: key, limit: limit)
    }
  }

  /// The rows of some streams, and of all that replaced each other with them (MIGRATION), as of all
  /// events: what a stream names may change what replaced another one. Nil while the live
  /// projection lacks events or is of another fold.
  ///
  /// - Throws: what SQLite reports.
  public func mirroredRows(of keys: Set<StreamKey>) throws(LedgerError) -> [MirroredRow]? {
    try mirrored { (projection) throws(LedgerError) in
      try related(keys, projection)
    }
  }

  /// Streams, and all that replaced each other with them (MIGRATION).
  ///
  /// - Throws: what SQLite reports.
  func related(
    _ keys: Set<StreamKey>, _ projection: ProjectionReader
  ) throws(LedgerError) -> [FoldedStream] {
    var found: [FoldedStream] = []
    var waiting = keys.sorted()
    var known = keys
    while let key = waiting.popLast() {
      var related = try projection.successors(of: key).map(\.key)
      for stream in try projection.streams(withOriginalTransactionId: key.originalTransactionId)
      where stream.key == key {
        found.append(stream)
        related += stream.ids[2].map(key.stream)
      }
      waiting += related.filter { known.insert($0).inserted }
    }
    return found
  }

  private func mirrored(
    _ read: (ProjectionReader) throws(LedgerError) -> [FoldedStream]
  ) throws(LedgerError) -> [MirroredRow]? {
    guard let opened = readable(), opened.isOwn, isFollowing else { return nil }
    defer { endSnapshot() }
    let projected = rows { () throws(LedgerError) in
      try beginSnapshot()
      return try read(opened.reader)
    }
    guard let projected else { return nil }
    let question = Question(now: .max)
    var found: [MirroredRow] = []
    for item in projected {
      let accounts = try journal.accounts(of: item.key)
      found.append(
        MirroredRow(
          key: item.key, row: item.row, succeededBy: try successor(of: item.key, question, opened),
          lines: try told(item.lines, of: item.key, question), requests: item.requests,
          accounts: accounts))
    }
    return found
  }
}
