public import Platform

/// What several daemons append to, each with a verified copy of it in its data folder.
///
/// A value is used by one thread, and its calls end by their deadline. Invariants of the whole:
///
/// - T1. An event is in the shared journal exactly when its transaction committed there. Only then
///   may anyone answer 200.
/// - T2. While the head is taken, the copy of the one who took it equals the shared journal: the
///   same `JournalPosition`. So `Journal.append` decides on the copy's tables alone.
/// - T3. A copy is a prefix of the shared journal. It commits after the shared journal.
/// - T4. `Journal.follow` takes an event only at the copy's head + 1, with the hash that
///   `ChainHash` gives, and folds what Apple signs only where that is proven again.
/// - T5. An answer leaves only after a commit that is known to be durable.
/// - T6. The head is not held for longer than a few seconds.
public protocol SharedJournal: AnyObject {
  /// The clock of the shared journal when its head was last asked for, milliseconds since 1970; nil
  /// if that is not known.
  var clock: Int64? { get }

  /// The id of the journal, 16 bytes. A shared journal without an id gets `proposed` for good.
  ///
  /// - Throws: `.sharedRefused` if it cannot be used at all, `.sharedNewer` if another program made
  ///   its schema.
  func identify(
    _ proposed: [UInt8], by deadline: Deadline
  ) throws(LedgerError) -> [UInt8]

  /// SHA-256 of the root certificates that its owner says every daemon must trust, and no other;
  /// empty if the owner says nothing.
  func trustRoots(by deadline: Deadline) throws(LedgerError) -> Set<[UInt8]>

  /// Takes the head, and returns what is behind `place`: at most `JournalTail.limit` of each kind.
  /// The head is held until `commit`, `abandon` or an error, only if the tail is whole: otherwise
  /// it is let go before this returns, so that one who is far behind makes nobody wait.
  ///
  /// - Throws: `.sharedNotNow` if the head cannot be taken by the deadline.
  func begin(
    after place: JournalPosition, by deadline: Deadline
  ) throws(LedgerError) -> JournalTail

  /// Writes all of a shipment in one transaction, commits, and lets the head go in every case.
  /// `shipment.after` is the head that `begin` returned.
  ///
  /// Events behind the last commit that this value knows to be durable can be such that a primary,
  /// restarted after a crash, shows and no standby has: a later commit is durable only after all
  /// before it. So a shipment with `isTouched` commits a change of the head even if it has nothing
  /// else to write.
  ///
  /// In SQL: `INSERT` of dictionaries, events and notes; `UPDATE note SET body = ''` of the
  /// subjects in `shipment.cleared` up to version `shipment.after.notes`, the one change that notes
  /// allow; `UPDATE head` to `shipment.head` with its notes and notes' hash, where it is
  /// `shipment.after`.
  ///
  /// - Throws: `.sharedUnknown` if it may or may not be committed; `.sharedDiverged` if the head is
  ///   not `shipment.after`, or a uuid or place is taken; all else: it is not committed.
  func commit(_ shipment: Shipment, by deadline: Deadline) throws(LedgerError)

  /// Lets the head go and writes nothing. Does nothing when it is not held.
  func abandon()

  /// What is behind `place`, at most `limit` of each kind, without taking the head. Asks for the
  /// head first, and for nothing else while that is `place`.
  func tail(
    after place: JournalPosition, limit: Int, by deadline: Deadline
  ) throws(LedgerError) -> JournalTail

  /// hash[seq], or nil if seq is past the head.
  func hash(at seq: Int64, by deadline: Deadline) throws(LedgerError) -> [UInt8]?

  /// The hash of the notes' chain at a version (`Note.chain`), or nil if there is none.
  func notesHash(at version: Int64, by deadline: Deadline) throws(LedgerError) -> [UInt8]?

  /// SHA-256 of the dictionary with an id, or nil if there is none. The chain does not cover
  /// dictionaries: two histories with the same events can have others.
  func dictionaryHash(at id: Int64, by deadline: Deadline) throws(LedgerError) -> [UInt8]?

  /// Ends the connection. The next call makes another one.
  func disconnect()
}
