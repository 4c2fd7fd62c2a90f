import Foundation
import JournalStore
import LedgerAudit
import LedgerEngine
import Support
import Testing

/// What the real program does on a watched disk while the power is to fail.
struct PowerLossScene: Sendable, CustomTestStringConvertible {
  let name: String
  /// Of a thousand images, how many are of this one.
  let share: Int
  /// Runs it; returns where in the trace the trial begins.
  let play: @Sendable (WatchedDisk) throws -> Int
  /// What else a disk must hold, and whether the command has told that it is done.
  var also: (@Sendable (_ image: String, _ isDone: Bool) throws -> Void)?

  /// Its journal is long, and so is each look at it.
  var isLong = false

  var testDescription: String { name }

  static let all = [
    PowerLossScene(name: "first start", share: 100, play: firstStart),
    PowerLossScene(name: "appends", share: 150, play: appends),
    PowerLossScene(name: "group commits", share: 150, play: groupCommits),
    PowerLossScene(name: "crashes", share: 150, play: crashes),
    PowerLossScene(name: "checkpoint", share: 100, play: checkpoint, isLong: true),
    PowerLossScene(name: "migration", share: 80, play: migration),
    PowerLossScene(name: "rebuild at rest", share: 70, play: rebuildAtRest),
    PowerLossScene(name: "rebuild beside a daemon", share: 70, play: rebuildBesideDaemon),
    PowerLossScene(name: "backup", share: 50, play: backup, also: backupIsWholeOrAbsent),
    PowerLossScene(name: "export", share: 20, play: export, also: exportIsWholeOrAbsent),
    PowerLossScene(name: "restore", share: 30, play: restore, also: restoreIsWholeOrSaysSo),
  ]

  private static func firstStart(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<4)
    disk.watch()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    return 0
  }

  private static func appends(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<20)
    disk.watch()
    let daemon = try disk.installation.start()
    let mark = disk.mark
    for (number, body) in bodies.enumerated() {
      try disk.post(number % 3 == 2 ? [body, bodies[number - 1]] : [body], to: daemon)
    }
    try daemon.stop()
    return mark
  }

  private static func groupCommits(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<40)
    disk.watch()
    let daemon = try disk.installation.start()
    let mark = disk.mark
    let port = daemon.port
    together(8) { number in
      let client = Client(port: port)
      for body in bodies[(number * 5)..<(number * 5 + 5)] { _ = client.post(body) }
    }
    try daemon.crash()
    return mark
  }

  private static func crashes(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<20)
    disk.watch()
    var daemon = try disk.installation.start()
    try disk.post(Array(bodies[..<8]), to: daemon)
    try daemon.crash()
    let mark = disk.mark
    daemon = try disk.installation.start()
    try disk.post(Array(bodies[8..<14]), to: daemon)
    try daemon.crash()
    daemon = try disk.installation.start()
    try disk.post(Array(bodies[14...]), to: daemon)
    try daemon.stop()
    return mark
  }

  /// Until the -wal was copied into the file, and begun again.
  private static func checkpoint(_ disk: WatchedDisk) throws -> Int {
    disk.watch()
    let daemon = try disk.installation.start()
    let wal = disk.installation.journal.path + "-wal"
    func size(_ path: String) -> Int {
      (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }
    var (next, mark, after) = (0, 0, 0)
    let before = size(disk.installation.journal.path)
    // Shortly before it, in pages with their headers.
    let nearly = (Journal.checkpointPages - 30) * (4096 + 24)
    while after < 6, next < 2_400 {
      try disk.post(try disk.sign(next..<next + 1, customers: 30), to: daemon)
      next += 1
      if mark == 0, size(wal) > nearly { mark = disk.mark }
      if size(disk.installation.journal.path) > before { after += 1 }
    }
    guard mark > 0, after > 0 else { throw Trouble("no checkpoint in \(next) events") }
    try daemon.stop()
    return mark
  }

  /// From the first schema.
  private static func migration(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<10)
    let before = try disk.installation.start()
    try disk.post(Array(bodies[..<6]), to: before)
    try before.stop()
    let connection = try SQLiteConnection.open(disk.installation.journal.path, .write)
    try connection.execute(
      """
      DROP TABLE redelivery;
      DROP INDEX quarantine_stream;
      ALTER TABLE quarantine DROP COLUMN original_transaction_id;
      DELETE FROM migration WHERE number = 2;
      PRAGMA user_version = 1;
      """)
    try connection.checkpointTruncate()
    connection.close()
    try disk.describe()
    disk.watch()
    // Those that were answered before are answered again, so that they count.
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    return 0
  }

  private static func rebuildAtRest(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<12)
    disk.watch()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    let mark = disk.mark
    for words in [["--apply"], ["--rollback"], ["--apply", "--keep", "1"]] {
      try disk.expect(["rebuild"] + words)
    }
    return mark
  }

  private static func rebuildBesideDaemon(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<18)
    disk.watch()
    let daemon = try disk.installation.start()
    try disk.post(Array(bodies[..<6]), to: daemon)
    let mark = disk.mark
    let command = try disk.installation.launch(
      ["rebuild", "--apply", "--config", disk.installation.config.path])
    try disk.post(Array(bodies[6..<12]), to: daemon)
    let finished = try command.finish()
    guard finished.code == 0 else { throw Trouble("rebuild: \(finished)") }
    try disk.post(Array(bodies[12...]), to: daemon)
    try daemon.crash()
    return mark
  }

  private static func backup(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<14)
    disk.watch()
    let daemon = try disk.installation.start()
    try disk.post(Array(bodies[..<10]), to: daemon)
    let mark = disk.mark
    try disk.expect(["backup", disk.beside("backup")])
    try disk.post(Array(bodies[10...]), to: daemon)
    try daemon.crash()
    return mark
  }

  @Sendable private static func backupIsWholeOrAbsent(_ image: String, _ isDone: Bool) throws {
    guard FileManager.default.fileExists(atPath: image + "/data-backup") else {
      if isDone { throw Trouble("the backup is gone") }
      return
    }
    let report = try BackupCheck.run(image + "/data-backup", threads: 1) { _, _, _ in true }
    guard report.findingCount == 0, report.events >= 10 else {
      throw Trouble("the backup: \(report)")
    }
  }

  private static func export(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<10)
    disk.watch()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    let mark = disk.mark
    try disk.expect(["export", "--output", disk.beside("export")])
    return mark
  }

  @Sendable private static func exportIsWholeOrAbsent(_ image: String, _ isDone: Bool) throws {
    let bytes = FileManager.default.contents(atPath: image + "/data-export")
    guard bytes != nil || !isDone else { throw Trouble("the export is gone") }
    guard let bytes else { return }
    let lines = bytes.count { $0 == 0x0A }
    guard lines == 10 else { throw Trouble("the export has \(lines) lines") }
  }

  private static func restore(_ disk: WatchedDisk) throws -> Int {
    let bodies = try disk.sign(0..<10)
    disk.watch()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    try disk.expect(["backup", disk.beside("backup")])
    let mark = disk.mark
    try disk.expect(["restore", disk.beside("backup"), "--data", disk.beside("restored")])
    return mark
  }

  /// A part of a restore is not taken for a journal.
  @Sendable private static func restoreIsWholeOrSaysSo(_ image: String, _ isDone: Bool) throws {
    let folder = DataFolder(path: image + "/data-restored")
    do throws(StoreError) {
      try Ledger.start(folder, now: 0, onFailure: { _ in }).stop()
    } catch {
      guard case .foreign(let what) = error, what.contains("restore"), !isDone else {
        throw error
      }
      return
    }
    let head = try JournalReader.open(folder).head().seq
    guard head == 10 || head == 0 && !isDone else { throw Trouble("\(head) events restored") }
  }
}

extension WatchedDisk {
  /// Runs a command that must end well.
  @discardableResult
  func expect(_ words: [String]) throws -> Finished {
    let finished = try run(words)
    guard finished.code == 0 else { throw Trouble("\(words): \(finished)") }
    return finished
  }

  func run(_ words: [String]) throws -> Finished {
    try installation.launch(words + ["--config", installation.config.path]).finish()
  }
}
