import Audit
import Foundation
import Ledger
import Platform
import Store
import Support
import Testing

/// Runs a command on a disk that fails. Its exit code must tell, every file under its final name
/// must be whole, the journal must be unchanged or longer, and the next attempt must succeed.
struct CommandFaultTest: Sendable, CustomTestStringConvertible {
  let name: String
  /// The arguments of the command.
  let arguments: @Sendable (InterceptedDisk) -> [String]
  /// Checks what must hold after it succeeded, or after it failed.
  let check: @Sendable (InterceptedDisk, _ isDone: Bool) throws -> Void
  /// Paths that it must not leave behind.
  var partials: @Sendable (InterceptedDisk) -> [String] = { _ in [] }

  var testDescription: String { name }

  static let all = [
    CommandFaultTest(
      name: "ingest", arguments: { ["ingest", $0.installation.folder.path + "/more.ndjson"] },
      check: { disk, isDone in
        let count = try JournalReader.open(DataFolder(path: disk.installation.data.path)).head().seq
        guard isDone ? count == 10 : (6...10).contains(count) else {
          throw TestFailure("\(count) events")
        }
      }),
    CommandFaultTest(
      name: "rebuild", arguments: { _ in ["rebuild", "--apply"] }, check: { _, _ in }),
    CommandFaultTest(
      name: "backup", arguments: { ["backup", $0.beside("backup")] },
      check: { try isWholeBackup($0.beside("backup"), isDone: $1) },
      partials: { [$0.beside("backup") + ".partial"] }),
    CommandFaultTest(
      name: "restore",
      arguments: {
        ["restore", $0.installation.folder.path + "/copy", "--data", $0.beside("restored")]
      },
      check: { try isWholeRestore($0.beside("restored"), isDone: $1) }),
    CommandFaultTest(
      name: "export",
      arguments: { ["export", "--output", $0.beside("export")] },
      check: { try isWholeExport($0, $0.beside("export"), isDone: $1) },
      partials: { [$0.beside("export") + ".partial"] }),
    CommandFaultTest(
      name: "export in place of another",
      arguments: {
        ["export", "--force", "--output", $0.beside("export")]
      },
      check: { disk, isDone in
        if !isDone, try Data(contentsOf: URL(filePath: disk.beside("export"))) == Data("old".utf8) {
          return
        }
        try isWholeExport(disk, disk.beside("export"), isDone: isDone)
      },
      partials: { [$0.beside("export") + ".partial"] }),
  ]

  private static func isThere(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  private static func isWholeBackup(_ path: String, isDone: Bool) throws {
    guard isThere(path) else {
      if isDone { throw TestFailure("there is no backup") }
      return
    }
    let report = try BackupCheck.run(path, threads: 1) { _, _, _ in true }
    guard report.findings.isEmpty, report.events == 6 else { throw TestFailure("\(report)") }
  }

  private static func isWholeRestore(_ path: String, isDone: Bool) throws {
    let folder = DataFolder(path: path)
    do throws(LedgerError) {
      try Ledger.start(folder, now: 0, onFailure: { _ in }).stop()
    } catch {
      guard error.code == .foreign, error.message.contains("restore"), !isDone else {
        throw error
      }
      return
    }
    let head = try JournalReader.open(folder).head().seq
    guard head == 6 || head == 0 && !isDone else { throw TestFailure("\(head) events restored") }
  }

  private static func isWholeExport(_ disk: InterceptedDisk, _ path: String, isDone: Bool) throws {
    guard isThere(path) else {
      if isDone { throw TestFailure("there is no export") }
      return
    }
    let expected = try Data(contentsOf: disk.installation.folder.appending(path: "exported"))
    guard try Data(contentsOf: URL(filePath: path)) == expected else {
      throw TestFailure("the export is not whole")
    }
  }

  // MARK: Running it

  /// What every run begins with: the journal, and the files that commands read.
  struct Start: Sendable {
    let files: [String: Data]
    let more: Data
    let exported: Data
    let backup: [String: Data]
  }

  func prepare(_ test: FaultTest) throws -> Start {
    let disk = try test.disk()
    try disk.installation.start().stop()
    let folder = disk.installation.folder
    let (exported, backup) = (folder.appending(path: "out"), folder.appending(path: "copy"))
    try disk.expect(["export", "--output", exported.path])
    try disk.expect(["backup", backup.path])
    let names = try FileManager.default.contentsOfDirectory(atPath: backup.path)
    return Start(
      files: try disk.installation.files(),
      more: Data(test.bodies.dropFirst(test.known).flatMap { $0.body + [0x0A] }),
      exported: try Data(contentsOf: exported),
      backup: try Dictionary(
        uniqueKeysWithValues: names.map {
          ($0, try Data(contentsOf: backup.appending(path: $0)))
        }))
  }

  /// - Returns: whether the fault occurred.
  func run(_ test: FaultTest, _ start: Start, _ fault: InterceptedDisk.Fault) throws -> Bool {
    let disk = try InterceptedDisk(test.authority, sent: test.bodies, files: start.files)
    let folder = disk.installation.folder
    try start.more.write(to: folder.appending(path: "more.ndjson"))
    try start.exported.write(to: folder.appending(path: "exported"))
    let copy = folder.appending(path: "copy")
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: false)
    for (name, bytes) in start.backup { try bytes.write(to: copy.appending(path: name)) }
    if name == "export in place of another" {
      try Data("old".utf8).write(to: URL(filePath: disk.beside("export")))
    }
    disk.intercept(tracing: false, fault)
    let finished = try disk.run(arguments(disk))
    guard [0, 1, 2, 3].contains(finished.code) else { throw TestFailure("it crashed: \(finished)") }
    guard finished.code == 0 || !finished.errors.isEmpty else {
      throw TestFailure("it failed without a message: \(finished)")
    }
    let fired = disk.hasFired
    disk.stopIntercepting()
    do {
      try check(disk, finished.code == 0)
      // A name that cannot be removed remains.
      for path in partials(disk) where fault.kind != "name" && Self.isThere(path) {
        throw TestFailure("it left \(path)")
      }
      try test.imageCheck.run(DataFolder(path: disk.installation.data.path), answered: test.before)
    } catch {
      throw TestFailure("\(error)\nafter \(finished)")
    }
    return fired
  }
}
