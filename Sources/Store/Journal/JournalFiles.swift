import Platform

/// The files of a journal that is open for writing, as other programs may change them.
///
/// SQLite goes on with the files that it has open, whatever becomes of their names. What it writes
/// into a -wal without a name is gone with the process, and so is what another program cuts off
/// (sqlite.org/howtocorrupt.html). So both files are looked at after each commit and before its
/// answer (promise 1), and while nothing is committed once a second.
final class JournalFiles {
  private let connection: SQLiteConnection
  private let path: String
  private let walPath: String
  private let identity: FileIdentity
  private let walIdentity: FileIdentity
  /// POSIX locks are on journal.sqlite and its -shm, so that this descriptor costs none.
  private let wal: OpenFile
  /// Empty before the first look.
  private var header: [UInt8] = []
  private var frameSize = 0
  private var frameCount = 0
  /// The last frame: what is cut off ends with it.
  private var lastFrame: [UInt8] = []

  /// - Throws: what the file system reports.
  init(_ connection: SQLiteConnection) throws(LedgerError) {
    guard let paths = connection.paths else { throw .sql("an open journal has no path") }
    (self.connection, path, walPath) = (connection, paths.file, paths.wal)
    identity = try FileIdentity.of(paths.file)
    walIdentity = try FileIdentity.of(paths.wal)
    wal = try OpenFile.existing(paths.wal)
    _ = try isWALWhole()
  }

  /// Looks whether another program removed, replaced or cut a file. Of a file without its name,
  /// what can still be reached is saved first.
  ///
  /// - Throws: `LedgerError.lostFile`, and what the file system reports.
  func requireInPlace() throws(LedgerError) {
    guard Self.isInPlace(identity, path) else {
      copyWAL()
      throw .lostFile("journal.sqlite")
    }
    guard Self.isInPlace(walIdentity, walPath) else {
      copyWAL()
      throw .lostFile("journal.sqlite-wal")
    }
    // Nothing of a -wal that was cut is copied: SQLite would copy zeros.
    guard try isWALWhole() else { throw .lostFile("journal.sqlite-wal") }
  }

  private static func isInPlace(_ identity: FileIdentity, _ path: String) -> Bool {
    (try? FileIdentity.of(path).isSameFile(as: identity)) == true
  }

  /// Whether the -wal has all that was written into it.
  private func isWALWhole() throws(LedgerError) -> Bool {
    let pages = connection.walPages
    let found = try wal.read(WALHeader.size, at: 0, path: walPath)
    if found != header {
      guard found.count == WALHeader.size, let parsed = WALHeader(found), parsed.isIntact else {
        return header.isEmpty && pages == 0
      }
      // SQLite began it anew, once all that it had was in journal.sqlite.
      (header, frameSize, frameCount, lastFrame) = (found, parsed.frameSize, 0, [])
    }
    // Bytes that were cut off and written over again are zeros up to where SQLite went on.
    let before = try lastBytes(lastFrame.count, of: frameCount)
    guard before == lastFrame else { return false }
    guard pages > frameCount else { return true }
    frameCount = pages
    lastFrame = try lastBytes(frameSize, of: pages)
    return lastFrame.count == frameSize
  }

  /// The last bytes of a number of frames; fewer where the file ends before.
  private func lastBytes(_ count: Int, of frames: Int) throws(LedgerError) -> [UInt8] {
    try wal.read(count, at: WALHeader.size + frames * frameSize - count, path: walPath)
  }

  /// Copies the -wal into the file, through the descriptors that SQLite has, as far as readers
  /// allow. The file is marked as closed, because the next start finds no -wal.
  private func copyWAL() {
    do throws(LedgerError) {
      try connection.atomically { () throws(LedgerError) in
        try Meta(connection: connection).set(.open, 0)
      }
      try connection.checkpointPassive()
    } catch {
      // What was lost is reported in any case.
    }
  }
}
