public import Platform
public import Store

/// Uploads a journal of its own to an empty shared journal, with its id, chain and places; the
/// folder then is a copy of it.
public enum CopyUpload {
  /// Events, or others, of one commit.
  private static let batch = 10_000
  /// How long each commit may take, milliseconds.
  private static let limit: Int64 = 60_000

  /// Continues an upload that was interrupted.
  ///
  /// - Parameters:
  ///   - now: milliseconds since 1970 UTC, for the record of migrations.
  ///   - progress: called after each commit with the events uploaded and the head; false stops.
  /// - Returns: false if it was stopped.
  /// - Throws: `LedgerError.locked` while a daemon holds the folder; `.foreign` if the shared
  ///   journal is that of another folder; `.copyWithoutSharedJournal` if the folder is a copy;
  ///   an error of the shared journal if it fails or has something else; otherwise what the journal
  ///   throws.
  public static func run(
    _ folder: DataFolder, to shared: any SharedJournal, now: Int64,
    progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Bool {
    try folder.requireJournal()
    let lock = try folder.lock()
    let journal = try Journal.open(folder, lock: lock, now: now)
    let result = Result { () throws(LedgerError) in
      try upload(journal, folder, to: shared, progress)
    }
    try journal.close()
    shared.disconnect()
    return try result.get()
  }

  private static func upload(
    _ journal: Journal, _ folder: DataFolder, to shared: any SharedJournal,
    _ progress: (Int64, Int64) -> Bool
  ) throws(LedgerError) -> Bool {
    guard try journal.unnamedThrough() == 0 else {
      throw .foreign(
        "the folder was written by an older program: start the daemon on it once without a shared "
          + "journal, stop it, and upload it then")
    }
    let id = try shared.identify(journal.journalId, by: Deadline(milliseconds: limit))
    guard id == journal.journalId else {
      throw .foreign("the shared journal is that of another folder; give an empty schema")
    }
    let reader = try JournalReader.open(folder)
    defer { reader.close() }
    var place = JournalPosition.origin
    while true {
      place = try head(of: shared, after: place, reader)
      guard let shipment = try reader.shipment(after: place, limit: batch) else {
        shared.abandon()
        try journal.becomeCopy(at: place)
        return true
      }
      try shared.commit(shipment, by: Deadline(milliseconds: limit))
      place = shipment.head
      guard progress(shipment.head.seq, journal.head.seq) else { return false }
    }
  }

  /// Takes the head, which is how far the upload is.
  private static func head(
    of shared: any SharedJournal, after known: JournalPosition, _ reader: JournalReader
  ) throws(LedgerError) -> JournalPosition {
    var place = known
    while true {
      let tail = try shared.begin(after: place, by: Deadline(milliseconds: limit))
      if tail.isWhole { return tail.head }
      // Only the places matter: the shipment after them shows whether it is this journal's.
      place = tail.head
      place.dictionary = tail.dictionaries.last?.id ?? place.dictionary
      guard let hash = try reader.hash(at: place.seq), hash == place.hash else {
        throw .sharedDiverged
      }
    }
  }
}
