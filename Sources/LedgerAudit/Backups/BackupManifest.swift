import Encoding
public import JournalStore
import Platform
import SignedData
public import StrictJSON

/// `backup.json`: which journal a backup is of, how far it goes, and what each of its files is.
///
///     {"object":"backup","version":1,"journal_id":"…","seq":7,"hash":"…","received_at":…,
///      "quarantined":0,"schema":1,"taken_at":…,"program":"0.1.0",
///      "files":[{"name":"journal.sqlite","bytes":…,"sha256":"…"}]}
///
/// Bytes in hexadecimal, times in milliseconds since 1970 UTC.
public struct BackupManifest: Sendable, Equatable {
  /// A file of the backup.
  public struct File: Sendable, Equatable {
    public let name: String
    /// Its size.
    public let bytes: Int64
    /// 32 bytes.
    public let sha256: [UInt8]
  }

  /// The file it is written to, in the backup's folder.
  public static let name = DataFolder.backupManifestName
  /// Grows with any change that an older program would misread.
  static let version: Int64 = 1
  static let journal = "journal.sqlite"
  /// The key that signs anchors, where the journal has one.
  static let anchorKey = "anchor.key"
  /// Nothing else is in a backup: a manifest that names more is not followed.
  private static let known = [journal, anchorKey]
  private static let maximumBytes = 1 << 16

  public let journalId: [UInt8]
  /// The last event in it.
  public let head: Head
  public let schema: Int64
  /// Notifications in quarantine, which is a part of the journal.
  public let quarantined: Int64
  /// When it was begun: what was answered before is in it.
  public let takenAt: Int64
  /// The version of the program that made it.
  public let program: String
  public let files: [File]

  /// As it is written, and as commands show it.
  public var json: JSONValue {
    .object([
      ("object", .string("backup")), ("version", .integer(Self.version)),
      ("journal_id", .string(Hexadecimal.encode(journalId))), ("seq", .integer(head.seq)),
      ("hash", .string(Hexadecimal.encode(head.hash))),
      ("received_at", .optional(head.receivedAt)), ("quarantined", .integer(quarantined)),
      ("schema", .integer(schema)), ("taken_at", .integer(takenAt)),
      ("program", .string(program)), ("files", .array(files.map(Self.json))),
    ])
  }

  private static func json(_ file: File) -> JSONValue {
    .object([
      ("name", .string(file.name)), ("bytes", .integer(file.bytes)),
      ("sha256", .string(Hexadecimal.encode(file.sha256))),
    ])
  }

  /// Why there is no manifest to go by.
  enum Fault: Error {
    case malformed(String)
    case newer(Int)
  }

  /// Reads the one of a backup's folder.
  static func read(_ folder: String) throws(Fault) -> BackupManifest {
    var bytes: [UInt8] = []
    let isWhole: Bool
    do throws(PlatformError) {
      isWhole = try FileReading.forEachPiece("\(folder)/\(name)") { piece in
        bytes += piece
        return bytes.count <= maximumBytes
      }
    } catch {
      throw .malformed("there is no \(name): \(error)")
    }
    guard isWhole else { throw .malformed("\(name) is too large") }
    guard let root = try? JSONDocument(parsing: bytes).root, root["object"]?.string == "backup",
      let version = root["version"]?.integer
    else { throw .malformed("\(name) does not describe a backup") }
    guard version <= Self.version else { throw .newer(Int(version)) }
    guard version >= 1 else { throw .malformed("\(name) has version \(version)") }
    guard let manifest = BackupManifest(root) else {
      throw .malformed("\(name) lacks something, or has what cannot be")
    }
    return manifest
  }

  /// The last millisecond that has a date of four digits: what is said to be later is made up.
  private static let latest: Int64 = 253_402_300_799_999

  private static func count(_ element: JSONElement?, upTo most: Int64 = .max) -> Int64? {
    guard let number = element?.integer, (0...most).contains(number) else { return nil }
    return number
  }

  private init?(_ root: JSONElement) {
    guard let id = Self.bytes(root["journal_id"], 16), let seq = Self.count(root["seq"]),
      let hash = Self.bytes(root["hash"], 32), let schema = Self.count(root["schema"]),
      let quarantined = Self.count(root["quarantined"]),
      let takenAt = Self.count(root["taken_at"], upTo: Self.latest),
      let program = root["program"]?.string, let list = root["files"]?.elements
    else { return nil }
    let files = list.compactMap(Self.file)
    let names = files.map(\.name)
    guard files.count == list.count, names.contains(Self.journal),
      Set(names).count == names.count, names.allSatisfy(Self.known.contains)
    else { return nil }
    self.init(
      journalId: id, head: Head(seq: seq, hash: hash, receivedAt: root["received_at"]?.integer),
      schema: schema, quarantined: quarantined, takenAt: takenAt, program: program, files: files)
  }

  init(
    journalId: [UInt8], head: Head, schema: Int64, quarantined: Int64, takenAt: Int64,
    program: String, files: [File]
  ) {
    self.journalId = journalId
    self.head = head
    self.schema = schema
    self.quarantined = quarantined
    self.takenAt = takenAt
    self.program = program
    self.files = files
  }

  private static func file(_ element: JSONElement) -> File? {
    guard let name = element["name"]?.string, let size = count(element["bytes"]),
      let sha256 = bytes(element["sha256"], 32)
    else { return nil }
    return File(name: name, bytes: size, sha256: sha256)
  }

  private static func bytes(_ element: JSONElement?, _ count: Int) -> [UInt8]? {
    guard let bytes = element?.string.flatMap(Hexadecimal.decode), bytes.count == count else {
      return nil
    }
    return bytes
  }
}

extension BackupManifest.File {
  /// Reads a file of a folder to its end and says what it is.
  ///
  /// - Parameter take: gets every piece as well; false stops.
  /// - Returns: nil where it was stopped.
  static func read(
    _ name: String, in folder: String,
    _ take: (ArraySlice<UInt8>) throws(PlatformError) -> Bool = { _ in true }
  ) throws(PlatformError) -> BackupManifest.File? {
    var hash = SHA256()
    var size: Int64 = 0
    let isWhole = try FileReading.forEachPiece("\(folder)/\(name)") {
      (piece) throws(PlatformError) in
      hash.update(piece)
      size += Int64(piece.count)
      return try take(piece)
    }
    return isWhole ? BackupManifest.File(name: name, bytes: size, sha256: hash.finish()) : nil
  }
}
