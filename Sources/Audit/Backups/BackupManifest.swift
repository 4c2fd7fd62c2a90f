import Platform
public import Store
public import StrictJSON

/// `backup.json`: which journal a backup is of, its head, and the size and hash of each file.
///
///     {"object":"backup","version":1,"journal_id":"…","seq":7,"hash":"…","received_at":…,
///      "quarantined":0,"schema":1,"taken_at":…,"program":"0.2.0",
///      "files":[{"name":"journal.sqlite","bytes":…,"sha256":"…"}]}
///
/// Binary values are in hexadecimal, times in milliseconds since 1970 UTC.
public struct BackupManifest: Sendable, Equatable {
  /// The name of its file in the backup's folder.
  static let name = DataFolder.backupManifestName
  /// Incremented with any change that an older program would misread.
  static let version: Int64 = 1
  /// The name of the journal's file.
  static let journal = "journal.sqlite"
  /// The name of the file with the key that signs anchors; absent if the journal has none.
  static let anchorKey = "anchor.key"
  /// With it a restored folder knows that the places of its sinks are lost.
  static let sinkNames = "sinks.names"
  /// The only files of a backup. A manifest that names another file is malformed.
  private static let known = [journal, anchorKey, sinkNames]
  private static let maximumBytes = 1 << 16

  /// 16 bytes.
  let journalId: [UInt8]
  /// The last event in it.
  public let head: Head
  /// The version of the journal's schema.
  let schema: Int64
  /// How many notifications are in quarantine, which is a part of the journal's file.
  let quarantined: Int64
  /// When it was begun, in milliseconds since 1970 UTC. Everything answered before is in it.
  public let takenAt: Int64
  /// The version of the program that made it.
  let program: String
  /// Every file of the backup but the manifest.
  public let files: [BackupFile]

  /// The manifest as it is written, and as commands show it.
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

  private static func json(_ file: BackupFile) -> JSONValue {
    .object([
      ("name", .string(file.name)), ("bytes", .integer(file.bytes)),
      ("sha256", .string(Hexadecimal.encode(file.sha256))),
    ])
  }

  /// Why a manifest could not be used.
  enum Fault: Error {
    case malformed(String)
    case newer(Int)
  }

  /// Reads the manifest of a backup's folder.
  ///
  /// - Throws: `Fault.newer` if a newer program wrote it; `Fault.malformed` if it is missing, too
  ///   large or not a manifest.
  static func read(_ folder: String) throws(Fault) -> BackupManifest {
    var bytes: [UInt8] = []
    let isWhole: Bool
    do throws(LedgerError) {
      isWhole = try FileReading.forEachChunk("\(folder)/\(name)") { chunk in
        bytes += chunk
        return bytes.count <= maximumBytes
      }
    } catch {
      throw .malformed("there is no \(name): \(error.detail)")
    }
    guard isWhole else { throw .malformed("\(name) is too large") }
    guard let root = try? JSONDocument(parsing: bytes).root, root["object"]?.string == "backup",
      let version = root["version"]?.integer
    else { throw .malformed("\(name) does not describe a backup") }
    guard version <= Self.version else { throw .newer(Int(version)) }
    guard version >= 1 else { throw .malformed("\(name) has version \(version)") }
    guard let manifest = BackupManifest(root) else {
      throw .malformed("\(name) lacks a member, or has an invalid one")
    }
    return manifest
  }

  /// The last millisecond of the year 9999; a later time is not believed.
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
    program: String, files: [BackupFile]
  ) {
    self.journalId = journalId
    self.head = head
    self.schema = schema
    self.quarantined = quarantined
    self.takenAt = takenAt
    self.program = program
    self.files = files
  }

  private static func file(_ element: JSONElement) -> BackupFile? {
    guard let name = element["name"]?.string, let size = count(element["bytes"]),
      let sha256 = bytes(element["sha256"], 32)
    else { return nil }
    return BackupFile(name: name, bytes: size, sha256: sha256)
  }

  private static func bytes(_ element: JSONElement?, _ count: Int) -> [UInt8]? {
    guard let bytes = element?.string.flatMap(Hexadecimal.decode), bytes.count == count else {
      return nil
    }
    return bytes
  }
}
