import Platform

/// The first 100 bytes of an SQLite file (sqlite.org/fileformat.html, section 1.3), read without
/// SQLite, which accepts an empty file as a new database.
struct FileHeader {
  /// The file's name without its folder, for messages.
  let name: String
  private let bytes: [UInt8]

  static func read(_ path: String) throws(LedgerError) -> FileHeader {
    let name = path.split(separator: "/").last.map { String($0) } ?? path
    return FileHeader(
      name: name,
      bytes: try DurableFile.read(path, limit: 100))
  }

  /// Whether the file is in WAL mode.
  var isWAL: Bool { bytes[18] == 2 && bytes[19] == 2 }

  /// In bytes. The stored value 1 means 65,536.
  var pageSize: Int {
    let stored = Int(bytes[16]) << 8 | Int(bytes[17])
    return stored == 1 ? 65_536 : stored
  }

  /// - Parameters:
  ///   - applicationId: the application_id that the file must have.
  ///   - known: the newest schema that this program knows.
  /// - Throws: `LedgerError.foreign` for another file, `.newer` for a newer schema.
  func check(applicationId: UInt32, known: Int) throws(LedgerError) {
    guard !bytes.isEmpty else { throw .foreign("\(name) is empty") }
    guard bytes.count == 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw .foreign("\(name) is not an SQLite file")
    }
    guard bigEndian(at: 68) == applicationId else {
      throw .foreign("\(name) is another program's file")
    }
    guard version <= known else { throw .newer(found: version, known: known) }
  }

  /// The user_version, which is the number of the schema.
  var version: Int { Int(Int32(bitPattern: bigEndian(at: 60))) }

  private func bigEndian(at offset: Int) -> UInt32 {
    bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension SQLiteConnection {
  /// Checks through SQLite that an open file has our application_id.
  ///
  /// The file must not be opened a second time for this: POSIX releases all locks of a process on a
  /// file when the process closes any descriptor of it (sqlite.org/howtocorrupt.html, section 2.2).
  /// Without the writer's lock, another program that opens and closes the file believes that it is
  /// the last user and removes the -wal, which holds acknowledged events. Only if SQLite cannot
  /// confirm the application_id are the bytes read, to say what the file is instead.
  ///
  /// - Returns: the number of the schema.
  /// - Throws: `LedgerError.foreign` for another file, `.newer` for a schema newer than `known`,
  ///   otherwise what SQLite or the file system reports.
  func requireOurs(_ path: String, applicationId: UInt32, known: Int) throws(LedgerError) -> Int {
    let found: (applicationId: Int64?, version: Int64?)
    do throws(LedgerError) {
      found = (
        try statement("PRAGMA application_id").first { $0.int(0) },
        try statement("PRAGMA user_version").first { $0.int(0) }
      )
    } catch {
      if error.code == .corrupt {
        try FileHeader.read(path).check(applicationId: applicationId, known: known)
      }
      throw error
    }
    if found.applicationId == Int64(applicationId), let version = found.version,
      version <= Int64(known)
    {
      return Int(version)
    }
    let header = try FileHeader.read(path)
    try header.check(applicationId: applicationId, known: known)
    return header.version
  }
}
