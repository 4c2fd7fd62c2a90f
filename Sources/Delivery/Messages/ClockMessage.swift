import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON

/// Messages that no event causes. They have the members of those that one does; what only an event
/// has is null, and `seq` is the last event of the customer that is folded in.
extension MessageMaker {
  /// Time alone changed the answer for a customer.
  func turn(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let key = try key(stream)
    let found = try read { () throws(LedgerError) in
      try reader.rows(turningAt: at, of: key)
    }
    guard let (rows, seq) = found else { throw .overtaken }
    return try message(
      MessageType.statusChanged, at, key, seq, source: "clock",
      Self.members(rows, hadAccess: rows.before?.entitlement.givesAccess, changes: rows.changes))
  }

  /// Another fold changed the answer for a customer.
  func recalculation(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let key = try key(stream)
    let known: Recalculation?
    do throws(LedgerError) {
      known = try store.recalculation(at: at, of: stream)
    } catch {
      throw error.isTemporary ? .notNow : .unreadable
    }
    guard let known else { throw .unreadable }
    let found = try read { () throws(LedgerError) in
      try reader.row(knownAt: at, of: key)
    }
    guard let (rows, seq) = found else { throw .unreadable }
    let members = Self.members(rows, hadAccess: known.hadAccess, changes: [])
      .map { ($0.0, $0.0 == "changes" ? known.changes : $0.1) }
    return try message(MessageType.recalculated, at, key, seq, source: "rebuild", members)
  }

  private func key(_ stream: Int64) throws(Failure) -> StreamKey {
    let key: StreamKey?
    do throws(LedgerError) { key = try reader.journal.streamKey(stream) } catch {
      throw error.isTemporary ? .notNow : .unreadable
    }
    guard let key else { throw .unreadable }
    return key
  }

  private func message(
    _ type: String, _ at: Int64, _ key: StreamKey, _ seq: Int64, source: String,
    _ members: [(String, JSONValue)]
  ) throws(Failure) -> OutgoingMessage {
    let id = Self.id(type, at, key, reader.journal.fold)
    let data: [(String, JSONValue)] =
      [
        ("seq", .integer(seq)), ("environment", .string(key.environment.rawValue)),
        ("bundle_id", .string(key.bundleId)), ("notification_type", .null), ("subtype", .null),
        ("original_transaction_id", .string(key.originalTransactionId)), ("signed_date", .null),
        ("received_at", .null), ("source", .string(source)), ("arrival", .null),
      ] + (try place(seq, in: key)) + members
    let body = envelope(
      id: id, type: type, subject: key.originalTransactionId, time: at, timestamp: at, data)
    return OutgoingMessage(id: id, body: body.bytes)
  }

  /// A UUID of version 8 over customer, moment and fold: the same in every attempt and restore.
  static func id(_ type: String, _ at: Int64, _ key: StreamKey, _ fold: Fold) -> String {
    let parts = [
      "subledger.\(type).v1", key.environment.rawValue, key.bundleId, key.originalTransactionId,
      "\(at)", "\(fold.version)",
    ]
    let digest = SHA256.hash(Array(parts.joined(separator: "\0").utf8))
    return NotificationUUID(digest: digest).description
  }
}
