import Foundation
import JournalStore
import LedgerAudit
import LedgerEngine
import Support
import Testing

/// A command on a disk that fails: its exit code is honest, what has a name is whole, the journal
/// is as it was or has more, and the next try succeeds.
struct CommandFaultTest: Sendable, CustomTestStringConvertible {
  let name: String
  /// What it is called with.
  let words: @Sendable (WatchedDisk) -> [String]
  /// What must hold once it told that it was done, or that it was not.
  let judge: @Sendable (WatchedDisk, _ isDone: Bool) throws -> Void
  /// Names it must not leave behind.
  var halves: @Sendable (WatchedDisk) -> [String] = { _ in [] }

  var testDescription: String { name }

  static let all = [
    CommandFaultTest(
      name: "ingest", words: { ["ingest", $0.installation.folder.path + "/more.ndjson"] },
      judge: { disk, isDone in
        let count = try JournalReader.open(DataFolder(path: disk.installation.data.path)).head().seq
        guard isDone ? count == 10 : (6...10).contains(count) else {
          throw Trouble("\(count) events")
        }
      }),
    CommandFaultTest(
      name: "rebuild", words: { _ in ["rebuild", "--apply"] }, judge: { _, _ in }),
    CommandFaultTest(
      name: "backup", words: { ["backup", $0.beside("backup")] },
      judge: { try isWholeBackup($0.beside("backup"), isDone: $1) },
      halves: { [$0.beside("backup") + ".partial"] }),
    CommandFaultTest(
      name: "restore",
      words: {
        ["restore", $0.installation.folder.path + "/kept", "--data", $0.beside("restored")]
      },
      judge: { try isWholeRestore($0.beside("restored"), isDone: $1) }),
    CommandFaultTest(
      name: "export",
      words: { ["export", "--output", $0.beside("export")] },
      judge: { try isWholeExport($0, $0.beside("export"), isDone: $1) },
      halves: { [$0.beside("export") + ".partial"] }),
    CommandFaultTest(
      name: "export in place of another",
      words: {
        ["export", "--force", "--output", $0.beside("export")]
      },
      judge: { disk, isDone in
        if !isDone, try Data(contentsOf: URL(filePath: disk.beside("export"))) == Data("old".utf8) {
          return
        }
        try isWholeExport(disk, disk.beside("export"), isDone: isDone)
      },
      halves: { [$0.beside("export") + ".partial"] }),
  ]

  private static func isThere(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  private static func isWholeBackup(_ path: String, isDone: Bool) throws {
    guard isThere(path) else {
      if isDone { throw Trouble("there is no backup") }
      return
    }
    let report = try BackupCheck.run(path, threads: 1) { _, _, _ in true }
    guard report.findingCount == 0, report.events == 6 else { throw Trouble("\(report)") }
  }

  private static func isWholeRestore(_ path: String, isDone: Bool) throws {
    let folder = DataFolder(path: path)
    do throws(StoreError) {
      try Ledger.start(folder, now: 0, onFailure: { _ in }).stop()
    } catch {
      guard case .foreign(let what) = error, what.contains("restore"), !isDone else {
        throw error
      }
      return
    }
    let head = try JournalReader.open(folder).head().seq
    guard head == 6 || head == 0 && !isDone else { throw Trouble("\(head) events restored") }
  }

  private static func isWholeExport(_ disk: WatchedDisk, _ path: String, isDone: Bool) throws {
    guard isThere(path) else {
      if isDone { throw Trouble("there is no export") }
      return
    }
    let expected = try Data(contentsOf: disk.installation.folder.appending(path: "exported"))
    guard try Data(contentsOf: URL(filePath: path)) == expected else {
      throw Trouble("the export is not whole")
    }
  }

  // MARK: Running it

  /// What every try begins with: the journal at rest, and what commands read.
  struct Start: Sendable {
    let files: [String: Data]
    let more: Data
    let exported: Data
    let backup: [String: Data]
  }

  func prepare(_ trial: FaultTest) throws -> Start {
    let disk = try trial.disk()
    try disk.installation.start().stop()
    let folder = disk.installation.folder
    let (exported, backup) = (folder.appending(path: "out"), folder.appending(path: "kept"))
    try disk.expect(["export", "--output", exported.path])
    try disk.expect(["backup", backup.path])
    let names = try FileManager.default.contentsOfDirectory(atPath: backup.path)
    return Start(
      files: try disk.installation.files(),
      more: Data(trial.bodies.dropFirst(trial.known).flatMap { $0.body + [0x0A] }),
      exported: try Data(contentsOf: exported),
      backup: try Dictionary(
        uniqueKeysWithValues: names.map {
          ($0, try Data(contentsOf: backup.appending(path: $0)))
        }))
  }

  /// - Returns: whether the fault was met.
  func run(_ trial: FaultTest, _ start: Start, _ fault: WatchedDisk.Fault) throws -> Bool {
    let disk = try WatchedDisk(trial.authority, sent: trial.bodies, files: start.files)
    let folder = disk.installation.folder
    try start.more.write(to: folder.appending(path: "more.ndjson"))
    try start.exported.write(to: folder.appending(path: "exported"))
    let kept = folder.appending(path: "kept")
    try FileManager.default.createDirectory(at: kept, withIntermediateDirectories: false)
    for (name, bytes) in start.backup { try bytes.write(to: kept.appending(path: name)) }
    if name == "export in place of another" {
      try Data("old".utf8).write(to: URL(filePath: disk.beside("export")))
    }
    disk.watch(tracing: false, fault)
    let finished = try disk.run(words(disk))
    guard [0, 1, 2, 3].contains(finished.code) else { throw Trouble("it crashed: \(finished)") }
    guard finished.code == 0 || !finished.errors.isEmpty else {
      throw Trouble("not a word about it: \(finished)")
    }
    let fired = disk.hasFired
    disk.unwatch()
    do {
      try judge(disk, finished.code == 0)
      // Where names cannot be removed they stay.
      for path in halves(disk) where fault.kind != "name" && Self.isThere(path) {
        throw Trouble("it left \(path)")
      }
      try trial.check.run(DataFolder(path: disk.installation.data.path), answered: trial.before)
    } catch {
      throw Trouble("\(error)\nafter \(finished)")
    }
    return fired
  }
}
