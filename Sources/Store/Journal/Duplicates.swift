import AppStore
import Platform

/// What decides that a notification is there already.
extension Journal {
  /// Promise 4: compares the event with the one already journaled under its UUID, which never
  /// changes. An event with other content goes to quarantine; one with the same content leaves it.
  ///
  /// - Returns: nil if the journal has no event with this UUID.
  func existingEvent(
    of event: NewEvent, _ uuid: [UInt8], _ connection: SQLiteConnection
  ) throws(LedgerError) -> Outcome? {
    let found = try connection.statement(
      "SELECT body_sha256, source, body, dictionary_id, seq FROM event WHERE notification_uuid = ?"
    ).bind(1, uuid).first { (seq: $0.int(4), stored: StoredContent($0)) }
    guard let found else { return nil }
    let compared = ComparedContent(event)
    if try isSame(found.stored, as: compared) {
      try release(compared, connection)
      return .duplicate(seq: found.seq)
    }
    _ = try quarantine(NewQuarantine(conflict: event), connection)
    return .conflict(seq: found.seq)
  }

  /// What stored notifications are compared with.
  struct ComparedContent {
    let notificationUUID: NotificationUUID?
    let source: EventSource
    let bodySHA256: [UInt8]
    /// Only made for a body with another hash.
    let body: () -> [UInt8]

    init(_ event: NewEvent) {
      (notificationUUID, source) = (event.notificationUUID, event.source)
      (bodySHA256, body) = (event.bodySHA256, { event.body })
    }

    init(_ item: NewQuarantine) {
      (notificationUUID, source) = (item.claims.notificationUUID, item.source)
      (bodySHA256, body) = (item.bodySHA256, { item.body })
    }
  }

  /// What is compared of a stored notification, of the journal or of the quarantine.
  struct StoredContent {
    let bodySHA256: [UInt8]
    let source: EventSource
    let body: [UInt8]
    let dictionary: Int64?

    /// - Parameter row: begins with `body_sha256, source, body, dictionary_id`.
    init(_ row: Statement) {
      bodySHA256 = row.bytes(0)
      source = EventSource(rawValue: row.text(1))
      body = row.bytes(2)
      dictionary = row.optionalInt(3)
    }
  }

  /// Whether a stored notification with the same UUID has this content.
  func isSame(
    _ stored: StoredContent, as other: ComparedContent
  ) throws(LedgerError) -> Bool {
    if stored.bodySHA256 == other.bodySHA256 { return true }
    guard stored.source == other.source else { return false }
    // A V1 UUID is derived from the content without the receipt, so only the receipt differs; that
    // of evidence from all but the signature.
    if other.source.hasDerivedUUID { return true }
    guard let body = try codec.decode(stored.body, dictionary: stored.dictionary) else {
      return false
    }
    return SignedContent.isSame(body, other.body())
  }
}
