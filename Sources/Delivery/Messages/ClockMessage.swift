import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import SignedData
import Store
import StrictJSON

/// Messages that no event causes.
extension MessageMaker {
  /// Time alone changed the answer for a customer.
  func turn(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let key = try key(stream)
    let found = try read { () throws(LedgerError) in
      try reader.rows(turningAt: at, of: key)
    }
    guard let (rows, seq) = found else { throw .overtaken }
    return try message(
      MessageType.statusChanged, at, key, seq, source: "clock", rows,
      hadAccess: rows.before?.entitlement.givesAccess ?? false, changes: Self.json(rows.changes))
  }

  /// Another fold changed the answer for a customer.
  func recalculation(_ at: Int64, _ stream: Int64) throws(Failure) -> OutgoingMessage {
    let key = try key(stream)
    let known = try found { () throws(LedgerError) in
      try store.recalculation(at: at, of: stream)
    }
    let (rows, seq) = try found { () throws(LedgerError) in
      try reader.row(knownAt: at, of: key)
    }
    return try message(
      MessageType.recalculated, at, key, seq, source: "rebuild", rows,
      hadAccess: known.hadAccess, changes: known.changes)
  }

  private func key(_ stream: Int64) throws(Failure) -> StreamKey {
    try found { () throws(LedgerError) in try reader.journal.streamKey(stream) }
  }

  private func message(
    _ type: String, _ at: Int64, _ key: StreamKey, _ seq: Int64, source: String,
    _ rows: EventRows, hadAccess: Bool, changes: JSONValue
  ) throws(Failure) -> OutgoingMessage {
    let content = Message.Content(
      seq: seq, environment: key.environment, bundleId: key.bundleId,
      originalTransactionId: key.originalTransactionId, source: source,
      number: try number(seq, in: key), rows: rows, hadAccess: hadAccess, changes: changes)
    let message = Message(
      id: Self.id(type, at, key, reader.journal.fold), journalId: journalId, type: type,
      subject: key.originalTransactionId, time: at, timestamp: at, data: content)
    return OutgoingMessage(id: message.id, body: message.bytes)
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
