import Audit
import Foundation
import Ledger
import Platform
import Store
import Support
import Testing

/// What the real program does on a recorded disk, before the power is cut at every operation of it.
struct PowerLossScenario: Sendable, CustomTestStringConvertible {
  let name: String
  /// How many of a thousand images are of this scenario.
  let share: Int
  /// Runs it, and returns the offset in the trace from which the power is cut.
  let run: @Sendable (InterceptedDisk) throws -> Int
  /// Checks a command's result in an image. `isDone` tells whether the command had succeeded.
  var resultCheck: (@Sendable (_ image: String, _ isDone: Bool) throws -> Void)?

  /// Whether its journal is long, so that each check takes long.
  var isLong = false

  var testDescription: String { name }

  static let all = [
    PowerLossScenario(name: "first start", share: 100, run: firstStart),
    PowerLossScenario(name: "appends", share: 150, run: appends),
    PowerLossScenario(name: "group commits", share: 150, run: groupCommits),
    PowerLossScenario(name: "crashes", share: 150, run: crashes),
    PowerLossScenario(name: "checkpoint", share: 100, run: checkpoint, isLong: true),
    PowerLossScenario(name: "migration", share: 80, run: migration),
    PowerLossScenario(name: "rebuild at rest", share: 70, run: rebuildAtRest),
    PowerLossScenario(name: "rebuild beside a daemon", share: 70, run: rebuildBesideDaemon),
    PowerLossScenario(name: "backup", share: 50, run: backup, resultCheck: backupIsWholeOrAbsent),
    PowerLossScenario(name: "export", share: 20, run: export, resultCheck: exportIsWholeOrAbsent),
    PowerLossScenario(
      name: "restore", share: 30, run: restore, resultCheck: restoreIsWholeOrSaysSo),
  ]

  private static func firstStart(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<4)
    disk.intercept()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    return 0
  }

  private static func appends(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<20)
    disk.intercept()
    let daemon = try disk.installation.start()
    let mark = disk.mark
    for (number, body) in bodies.enumerated() {
      try disk.post(number % 3 == 2 ? [body, bodies[number - 1]] : [body], to: daemon)
    }
    try daemon.stop()
    return mark
  }

  private static func groupCommits(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<40)
    disk.intercept()
    let daemon = try disk.installation.start()
    let mark = disk.mark
    let port = daemon.port
    runConcurrently(8) { number in
      let client = Client(port: port)
      for body in bodies[(number * 5)..<(number * 5 + 5)] { _ = client.post(body) }
    }
    try daemon.crash()
    return mark
  }

  private static func crashes(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<20)
    disk.intercept()
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

  /// Posts until the -wal was copied into the file and restarted.
  private static func checkpoint(_ disk: InterceptedDisk) throws -> Int {
    disk.intercept()
    let daemon = try disk.installation.start()
    let wal = disk.installation.journal.path + "-wal"
    func size(_ path: String) -> Int {
      (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }
    var (next, mark, after) = (0, 0, 0)
    let before = size(disk.installation.journal.path)
    // Shortly before the checkpoint, in bytes: pages with their frame headers.
    let threshold = (Journal.checkpointPages - 30) * (4096 + 24)
    while after < 6, next < 2_400 {
      try disk.post(try disk.sign(next..<next + 1, customers: 30), to: daemon)
      next += 1
      if mark == 0, size(wal) > threshold { mark = disk.mark }
      if size(disk.installation.journal.path) > before { after += 1 }
    }
    guard mark > 0, after > 0 else { throw TestFailure("no checkpoint in \(next) events") }
    try daemon.stop()
    return mark
  }

  /// Migrates a journal of the first schema.
  private static func migration(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<10)
    let before = try disk.installation.start()
    try disk.post(Array(bodies[..<6]), to: before)
    try before.stop()
    try OlderSchema.restore(DataFolder(path: disk.installation.data.path))
    try disk.describe()
    disk.intercept()
    // All are posted again, so that the events before the migration are answered in the trace, too.
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    return 0
  }

  private static func rebuildAtRest(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<12)
    disk.intercept()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    let mark = disk.mark
    // The second one removes what was live first.
    for _ in 0..<2 { try disk.expect(["rebuild", "--apply"]) }
    return mark
  }

  private static func rebuildBesideDaemon(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<18)
    disk.intercept()
    let daemon = try disk.installation.start()
    try disk.post(Array(bodies[..<6]), to: daemon)
    let mark = disk.mark
    let command = try disk.installation.launch(
      ["rebuild", "--apply", "--config", disk.installation.config.path])
    try disk.post(Array(bodies[6..<12]), to: daemon)
    let finished = try command.finish()
    guard finished.code == 0 else { throw TestFailure("rebuild: \(finished)") }
    try disk.post(Array(bodies[12...]), to: daemon)
    try daemon.crash()
    return mark
  }

  private static func backup(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<14)
    disk.intercept()
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
      if isDone { throw TestFailure("the backup is gone") }
      return
    }
    let report = try BackupCheck.run(image + "/data-backup", threads: 1) { _, _, _ in true }
    guard report.findings.isEmpty, report.events >= 10 else {
      throw TestFailure("the backup: \(report)")
    }
  }

  private static func export(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<10)
    disk.intercept()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    let mark = disk.mark
    try disk.expect(["export", "--output", disk.beside("export")])
    return mark
  }

  @Sendable private static func exportIsWholeOrAbsent(_ image: String, _ isDone: Bool) throws {
    let bytes = Scratch.bytes(of: image + "/data-export")
    guard bytes != nil || !isDone else { throw TestFailure("the export is gone") }
    guard let bytes else { return }
    let lines = bytes.count { $0 == 0x0A }
    guard lines == 10 else { throw TestFailure("the export has \(lines) lines") }
  }

  private static func restore(_ disk: InterceptedDisk) throws -> Int {
    let bodies = try disk.sign(0..<10)
    disk.intercept()
    let daemon = try disk.installation.start()
    try disk.post(bodies, to: daemon)
    try daemon.stop()
    try disk.expect(["backup", disk.beside("backup")])
    let mark = disk.mark
    try disk.expect(["restore", disk.beside("backup"), "--data", disk.beside("restored")])
    return mark
  }

  /// An incomplete restore must not be accepted as a journal.
  @Sendable private static func restoreIsWholeOrSaysSo(_ image: String, _ isDone: Bool) throws {
    let folder = DataFolder(path: image + "/data-restored")
    do throws(LedgerError) {
      try Ledger.start(folder, now: 0, onFailure: { _ in }).stop()
    } catch {
      guard error.code == .foreign, error.message.contains("restore"), !isDone else {
        throw error
      }
      return
    }
    let head = try JournalReader.open(folder).head().seq
    guard head == 10 || head == 0 && !isDone else { throw TestFailure("\(head) events restored") }
  }
}

extension InterceptedDisk {
  /// Runs a command that must succeed.
  @discardableResult
  func expect(_ arguments: [String]) throws -> CommandResult {
    let finished = try run(arguments)
    guard finished.code == 0 else { throw TestFailure("\(arguments): \(finished)") }
    return finished
  }

  func run(_ arguments: [String]) throws -> CommandResult {
    try installation.launch(arguments + ["--config", installation.config.path]).finish()
  }
}
