import Platform

/// The files of a journal that is open for writing, as other programs may change them.
///
/// SQLite goes on with the files that it has open, whatever becomes of their names. What it writes
/// into a -wal without a name is gone with the process, and so is what another program cuts off
/// (sqlite.org/howtocorrupt.html). So both files are looked at after each commit and before its
/// answer (promise 1), and while nothing is committed once a second.
///
/// What was written into the -wal is kept in memory until SQLite begins it anew, so that it can be
/// written again.
final class JournalFiles {
  /// What another program did.
  enum Loss {
    /// The path of journal.sqlite leads to another file, or to none.
    case movedFile
    /// The path of its -wal does.
    case movedWAL
    /// The -wal lacks something that was written into it.
    case cutWAL
  }

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
  /// All frames behind the header; nil if they are too many.
  private var kept: [[UInt8]]? = []
  /// What could not be saved; nil if nothing was lost, or all that was answered is saved.
  private var unsaved: Loss?

  /// The number of frames that are kept at most, 24 MB. There are more only where a reader keeps
  /// SQLite from beginning the -wal anew.
  private static let keptFrames = Journal.checkpointPages * 3 / 2

  /// - Throws: what the file system reports.
  init(_ connection: SQLiteConnection) throws(LedgerError) {
    guard let paths = connection.paths else { throw .sql("an open journal has no path") }
    (self.connection, path, walPath) = (connection, paths.file, paths.wal)
    identity = try FileIdentity.of(paths.file)
    walIdentity = try FileIdentity.of(paths.wal)
    wal = try OpenFile.existing(paths.wal)
    try begin()
  }

  /// Begins with the -wal as it is now: at the start, and after SQLite emptied it.
  ///
  /// - Throws: what the file system reports.
  func begin() throws(LedgerError) {
    header = []
    _ = try keep(connection.walPages)
  }

  /// Keeps what was committed since the last call. If another program removed, replaced or cut a
  /// file, all that was committed is saved first.
  ///
  /// - Throws: `LedgerError.lostFile`, and what the file system reports.
  func requireInPlace() throws(LedgerError) {
    guard let loss = try loss() else { return }
    let isSaved = save(loss)
    unsaved = isSaved ? nil : loss
    throw .lostFile(loss == .movedFile ? "journal.sqlite" : "journal.sqlite-wal", isSaved: isSaved)
  }

  private func loss() throws(LedgerError) -> Loss? {
    guard Self.isInPlace(identity, path) else { return .movedFile }
    guard Self.isInPlace(walIdentity, walPath) else { return .movedWAL }
    return try keep(connection.walPages) ? nil : .cutWAL
  }

  private static func isInPlace(_ identity: FileIdentity, _ path: String) -> Bool {
    (try? FileIdentity.of(path).isSameFile(as: identity)) == true
  }

  /// Keeps what was written since the last call.
  ///
  /// - Returns: false if something that was written before is not there.
  private func keep(_ pages: Int) throws(LedgerError) -> Bool {
    let found = try wal.read(WALHeader.size, at: 0, path: walPath)
    if found != header {
      guard found.count == WALHeader.size, let parsed = WALHeader(found), parsed.isIntact else {
        return header.isEmpty && pages == 0
      }
      // SQLite began it anew, once all that it had was in journal.sqlite.
      (header, frameSize) = (found, parsed.frameSize)
      (frameCount, lastFrame, kept) = (0, [], [])
    }
    // Bytes that were cut off and written over again are zeros up to where SQLite went on.
    let end = WALHeader.size + frameCount * frameSize
    let before = try wal.read(lastFrame.count, at: end - lastFrame.count, path: walPath)
    guard before == lastFrame else { return false }
    let added = max(0, pages - frameCount)
    guard added > 0 else { return true }
    let frames = try wal.read(added * frameSize, at: end, path: walPath)
    guard frames.count == added * frameSize else { return false }
    frameCount += added
    lastFrame = Array(frames.suffix(frameSize))
    if frameCount > Self.keptFrames { kept = nil } else { kept?.append(frames) }
    return true
  }

  // MARK: Saving

  private func save(_ loss: Loss) -> Bool {
    switch loss {
    case .movedFile:
      // If it has another name, it is whole under that; whether it has one is not known.
      _ = copyWAL()
      return false
    case .movedWAL: return copyWAL()
    case .cutWAL: return restoreWAL()
    }
  }

  /// Copies a -wal without a name into the file, through the descriptors that SQLite has. The file
  /// is marked as closed, because the next start finds no -wal.
  ///
  /// - Returns: false also where a reader keeps some of it from being copied.
  private func copyWAL() -> Bool {
    do throws(LedgerError) {
      try connection.atomically { () throws(LedgerError) in
        try Meta(connection: connection).set(.open, 0)
      }
      try connection.checkpointPassive()
      return connection.walPages == 0
    } catch {
      return false
    }
  }

  /// Copies the rest of a -wal without a name, once no reader of this process is left. Waits up to
  /// ten seconds for those of others.
  ///
  /// - Returns: whether all of it is in the file.
  func saveAgain() -> Bool {
    guard unsaved == .movedWAL else { return false }
    return (try? connection.checkpointTruncate()) != nil
  }

  /// Writes what was cut off the -wal again, and syncs it. Nothing is copied into the file: SQLite
  /// would copy the zeros of a commit that was cut before it could be kept.
  ///
  /// - Returns: whether all that was answered is in it then.
  private func restoreWAL() -> Bool {
    guard let kept, !header.isEmpty else { return false }
    do throws(LedgerError) {
      try wal.write(header, at: 0, path: walPath)
      var offset = header.count
      for frames in kept {
        try wal.write(frames, at: offset, path: walPath)
        offset += frames.count
      }
      try wal.sync(path: walPath)
      return true
    } catch {
      return false
    }
  }
}
