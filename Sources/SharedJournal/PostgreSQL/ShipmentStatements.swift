import AppStore
import Clients
import Store

/// The statements that write a shipment and commit it, for one round trip.
struct ShipmentStatements {
  private let sql: JournalSQL

  init(_ sql: JournalSQL) { self.sql = sql }

  /// Dictionaries before the events that need them; the head after the events, because the trigger
  /// compares them with it.
  func statements(_ shipment: Shipment) -> [PostgresStatement] {
    var statements: [PostgresStatement] = []
    if !shipment.dictionaries.isEmpty { statements.append(dictionaries(shipment.dictionaries)) }
    if !shipment.events.isEmpty { statements.append(events(shipment.events)) }
    if !shipment.cleared.isEmpty {
      statements.append(
        PostgresStatement(
          sql.clearNotes,
          [.texts(shipment.cleared.map(StoredText.encode)), .integer(shipment.after.notes)]))
    }
    if !shipment.notes.isEmpty {
      statements.append(notes(shipment.notes, after: shipment.after.notesHash))
    }
    statements.append(moveHead(shipment))
    statements.append(PostgresStatement("COMMIT"))
    return statements
  }

  private func dictionaries(_ dictionaries: [PackedDictionary]) -> PostgresStatement {
    PostgresStatement(
      sql.insertDictionaries,
      [
        .integers(dictionaries.map(\.id)), .byteStrings(dictionaries.map(\.headerSHA256)),
        .byteStrings(dictionaries.map(\.bytes)), .byteStrings(dictionaries.map(\.sha256)),
      ])
  }

  private func events(_ events: [PackedEvent]) -> PostgresStatement {
    let texts = { (column: (PackedEvent) -> String?) in
      PostgresValue.texts(events.map { column($0).map(StoredText.encode) })
    }
    return PostgresStatement(
      sql.insertEvents,
      [
        .integers(events.map(\.seq)), .uuids(events.map(\.notificationUUID.bytes)),
        texts(\.source.rawValue), texts(\.environment.rawValue), texts(\.bundleId),
        texts(\.notificationType), texts(\.subtype), texts(\.originalTransactionId),
        .integers(events.map(\.signedDate)), .integers(events.map(\.receivedAt)),
        .byteStrings(events.map(\.bodySHA256)), .byteStrings(events.map(\.hash)),
        .integers(events.map(\.dictionary)), .byteStrings(events.map(\.body)),
      ])
  }

  private func notes(_ notes: [Note], after previous: [UInt8]) -> PostgresStatement {
    var hash = previous
    let hashes = notes.map { note -> [UInt8] in
      hash = note.chain(after: hash)
      return hash
    }
    return PostgresStatement(
      sql.insertNotes,
      [
        .integers(notes.map(\.version)), .texts(notes.map { StoredText.encode($0.subject) }),
        .byteStrings(notes.map(\.sha256)), .byteStrings(hashes), .byteStrings(notes.map(\.body)),
      ])
  }

  private func moveHead(_ shipment: Shipment) -> PostgresStatement {
    let (head, after) = (shipment.head, shipment.after)
    return PostgresStatement(
      sql.moveHead,
      [
        .integer(head.seq), .bytes(head.hash), .integer(head.receivedAt), .integer(head.notes),
        .bytes(head.notesHash), .integer(shipment.isTouched ? 1 : 0), .integer(after.seq),
        .bytes(after.hash), .integer(after.notes), .bytes(after.notesHash),
      ])
  }
}
