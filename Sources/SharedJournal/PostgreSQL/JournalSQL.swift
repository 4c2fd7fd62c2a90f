import Clients
import Store

/// The statements of a shared journal, with its schema. Every table is named with the schema: no
/// setting of a session is changed, because a pooler would give it to another client.
struct JournalSQL {
  /// Quoted.
  private let schema: String
  private let name: String

  init(_ schema: PostgresIdentifier) {
    self.schema = schema.quoted
    name = schema.name
  }

  // MARK: The head

  /// Each statement sees what was committed before it, so that what follows the lock of the head
  /// sees what its last holder committed.
  static let begin = "BEGIN ISOLATION LEVEL READ COMMITTED"

  /// One state of the database for all statements.
  static let beginReading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

  /// For this SQL transaction alone. A session that stops between its round trips is ended after
  /// five seconds. Who waits for the head gives up after one second, in order to look at who holds
  /// it. A COMMIT waits for the disk and for the synchronous standbys, whatever the role says.
  static let limits = """
    SELECT set_config('idle_in_transaction_session_timeout', '5s', true),
      set_config('lock_timeout', '1s', true),
      set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply'
        ELSE 'on' END, true)
    """

  var head: String {
    """
    SELECT seq, hash, received_at_ms, notes, notes_hash,
      (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM \(schema).head
    """
  }

  var lockedHead: String { head + " FOR UPDATE" }

  /// Moves the head from where it was found, and fails with 22012, a division by zero, where it is
  /// not there: a COMMIT that follows in the same pipeline then commits nothing.
  var moveHead: String {
    """
    WITH moved AS (
      UPDATE \(schema).head SET seq = $1, hash = $2, received_at_ms = $3, notes = $4,
        notes_hash = $5, touched = touched + $6
      WHERE \(Self.isWhereFound) RETURNING 1)
    SELECT 1 / count(*) FROM moved
    """
  }

  private static let isWhereFound = "seq = $7 AND hash = $8 AND notes = $9 AND notes_hash = $10"

  /// Ends sessions that have held the head for longer than ten seconds: a daemon that stopped, or
  /// was cut off, while it sent its statements. No timeout of PostgreSQL 15 ends those. A role may
  /// end its own sessions
  /// (postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADMIN-SIGNAL).
  var endHolders: String {
    """
    SELECT count(*) FILTER (WHERE pg_terminate_backend(a.pid))
    FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE l.relation = '\(schema).head'::regclass AND l.granted
      AND l.mode IN ('RowShareLock', 'RowExclusiveLock') AND a.usename = current_user
      AND a.pid <> pg_backend_pid() AND a.xact_start < now() - interval '10 s'
    """
  }

  // MARK: Reading

  var eventsAfter: String {
    """
    SELECT seq, notification_uuid, source, environment, bundle_id, notification_type, subtype,
      original_transaction_id, signed_date_ms, received_at_ms, body_sha256, hash, dictionary_id,
      body
    FROM \(schema).event WHERE seq > $1 ORDER BY seq LIMIT $2
    """
  }

  /// The body of an emptied note is one byte: no copy takes that for what was removed.
  var notesAfter: String {
    """
    SELECT version, subject, sha256, CASE WHEN \(isEmptied) THEN '\\x00'::bytea ELSE body END
    FROM \(schema).note n WHERE version > $1 ORDER BY version LIMIT $2
    """
  }

  var emptiedNotes: String { "SELECT count(*) FROM \(schema).note n WHERE \(isEmptied)" }

  /// Whether a note `n` has no body, and no later one says that what it was about was removed. Both
  /// are written in one SQL transaction, by migration 3 at the latest.
  private var isEmptied: String {
    """
    (n.body = '' AND NOT EXISTS (SELECT 1 FROM \(schema).note r
      WHERE r.subject = n.subject || '/removed' AND r.version > n.version AND r.body <> ''))
    """
  }

  var dictionariesAfter: String {
    """
    SELECT id, header_sha256, bytes, sha256 FROM \(schema).dictionary WHERE id > $1
    ORDER BY id LIMIT $2
    """
  }

  var hashAt: String { "SELECT hash FROM \(schema).event WHERE seq = $1" }

  var dictionaryHashAt: String { "SELECT sha256 FROM \(schema).dictionary WHERE id = $1" }

  var notesHashAt: String { "SELECT hash FROM \(schema).note WHERE version = $1" }

  // MARK: Writing

  var insertDictionaries: String {
    """
    INSERT INTO \(schema).dictionary (id, header_sha256, bytes, sha256)
    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bytea[])
    """
  }

  var insertEvents: String {
    """
    INSERT INTO \(schema).event (seq, notification_uuid, source, environment, bundle_id,
      notification_type, subtype, original_transaction_id, signed_date_ms, received_at_ms,
      body_sha256, hash, dictionary_id, body)
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
      $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::bytea[], $12::bytea[],
      $13::bigint[], $14::bytea[])
    """
  }

  var insertNotes: String {
    """
    INSERT INTO \(schema).note (version, subject, sha256, hash, body)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bytea[], $5::bytea[])
    """
  }

  var clearNotes: String {
    """
    UPDATE \(schema).note SET body = ''
    WHERE subject = ANY($1::text[]) AND version <= $2 AND body <> ''
    """
  }

  // MARK: Identity

  var migrations: String { "SELECT number, sha256 FROM \(schema).migration ORDER BY number" }

  var journalId: String { "SELECT journal_id FROM \(schema).journal" }

  var trustRoots: String { "SELECT sha256 FROM \(schema).trust_root" }

  var insertJournalId: String {
    "INSERT INTO \(schema).journal (journal_id) VALUES ($1) ON CONFLICT DO NOTHING"
  }

  // MARK: Duties

  var takeDuty: String {
    """
    INSERT INTO \(schema).duty AS duty (name, holder, epoch, until)
    VALUES ($1, $2, 1, now() + $3 * interval '1 s')
    ON CONFLICT (name) DO UPDATE SET holder = $2,
      epoch = duty.epoch + CASE WHEN duty.holder = $2 THEN 0 ELSE 1 END,
      until = now() + $3 * interval '1 s'
    WHERE NOT (\(isLease("duty."))) OR duty.holder = $2
    RETURNING epoch, position
    """
  }

  /// One that ends later than any that is taken now is none: the server's clock was ahead, or
  /// somebody else wrote it.
  private func isLease(_ table: String = "") -> String {
    "\(table)until BETWEEN now() AND now() + \(2 * DutyLease.seconds) * interval '1 s'"
  }

  var saveDuty: String {
    "UPDATE \(schema).duty SET position = $3 WHERE name = $1 AND epoch = $2"
  }

  var releaseDuty: String {
    "UPDATE \(schema).duty SET until = now() - interval '1 s' WHERE name = $1 AND epoch = $2"
  }

  // MARK: What a role could do

  /// Whether the role has more than it needs, and after how many milliseconds its statements are
  /// cancelled.
  var rights: String {
    """
    SELECT rolsuper OR rolcreaterole OR rolreplication OR rolbypassrls,
      pg_has_role(current_user, nspowner, 'USAGE'),
      has_schema_privilege('\(name)', 'CREATE'),
      has_table_privilege('\(schema).event', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
        OR has_table_privilege('\(schema).dictionary', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
        OR has_table_privilege('\(schema).journal', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
        OR has_table_privilege('\(schema).note', 'UPDATE, DELETE, TRUNCATE, TRIGGER')
        OR has_table_privilege('\(schema).head', 'DELETE, TRUNCATE, TRIGGER')
        OR coalesce(has_table_privilege(to_regclass('\(schema).trust_root')::oid,
          'INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER'), false),
      (extract(epoch FROM current_setting('statement_timeout')::interval) * 1000)::bigint
    FROM pg_roles, pg_namespace WHERE rolname = current_user AND nspname = '\(name)'
    """
  }

  var duties: String {
    "SELECT name, holder, \(isLease()) FROM \(schema).duty ORDER BY name"
  }
}
