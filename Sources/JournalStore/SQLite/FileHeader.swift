import Platform

/// The first 100 bytes of an SQLite file (sqlite.org/fileformat.html, section 1.3), read without
/// SQLite, which would take an empty file for a new database.
struct FileHeader {
  let name: String
  private let bytes: [UInt8]

  static func read(_ path: String) throws(StoreError) -> FileHeader {
    let name = path.split(separator: "/").last.map { String($0) } ?? path
    return FileHeader(
      name: name,
      bytes: try platform { () throws(PlatformError) in try DurableFile.read(path, limit: 100) })
  }

  /// Whether the file is to be read together with a -wal.
  var isWAL: Bool { bytes[18] == 2 && bytes[19] == 2 }

  /// In bytes; 1 stands for 65,536.
  var pageSize: Int {
    let stored = Int(bytes[16]) << 8 | Int(bytes[17])
    return stored == 1 ? 65_536 : stored
  }

  /// - Parameter mark: the application_id that makes a file ours.
  /// - Throws: `foreign`, or `newer` for a schema past `known`.
  func check(mark: UInt32, known: Int) throws(StoreError) {
    guard !bytes.isEmpty else { throw .foreign("\(name) is empty") }
    guard bytes.count == 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
      throw .foreign("\(name) is not an SQLite file")
    }
    guard bigEndian(at: 68) == mark else { throw .foreign("\(name) is another program's file") }
    guard version <= known else { throw .newer(found: version, known: known) }
  }

  /// The user_version: which schema it has.
  var version: Int { Int(Int32(bitPattern: bigEndian(at: 60))) }

  private func bigEndian(at place: Int) -> UInt32 {
    bytes[place..<(place + 4)].reduce(0) { $0 << 8 | UInt32($1) }
  }
}

extension SQLiteConnection {
  /// Whether an open file is ours, asked through SQLite.
  ///
  /// Never by opening the file a second time: POSIX drops all locks of a process on a file as soon
  /// as it closes any descriptor of it (sqlite.org/howtocorrupt.html, section 2.2), and without the
  /// writer's lock another program that opens and closes the file takes itself for the last one
  /// and removes the -wal that answered events are in. Only where SQLite cannot say that it is ours
  /// do the bytes tell what it is instead.
  ///
  /// - Returns: the schema's number.
  /// - Throws: `foreign`, or `newer` for a schema past `known`.
  func requireOurs(_ path: String, mark: UInt32, known: Int) throws(StoreError) -> Int {
    let found: (mark: Int64?, version: Int64?)
    do throws(StoreError) {
      found = (
        try statement("PRAGMA application_id").first { $0.int(0) },
        try statement("PRAGMA user_version").first { $0.int(0) }
      )
    } catch {
      if case .corrupt = error { try FileHeader.read(path).check(mark: mark, known: known) }
      throw error
    }
    if found.mark == Int64(mark), let version = found.version, version <= Int64(known) {
      return Int(version)
    }
    let header = try FileHeader.read(path)
    try header.check(mark: mark, known: known)
    return header.version
  }
}

/// The first 32 bytes of a -wal (sqlite.org/fileformat.html, section 4.1).
struct WALHeader {
  static let size = 32
  let pageSize: Int

  /// nil where the bytes begin no -wal of a version SQLite 3 knows.
  init?(_ bytes: [UInt8]) {
    let words = stride(from: 0, to: 12, by: 4).map { start in
      bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }
    guard words[0] | 1 == 0x377F_0683, words[1] == 3_007_000 else { return nil }
    pageSize = Int(words[2])
  }
}
