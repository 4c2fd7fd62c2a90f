import Audit
import Platform
import Store
import StrictJSON

/// `backup`: copies everything that cannot be computed again into one folder, or checks an existing
/// backup.
enum BackupCommand {
  static let flags: [Command.Flag] = [
    .init("--check", "check the backup FOLDER instead of making one; changes nothing"),
    .init(
      "--nightly", "HH:MM",
      "run on, and each day at this time (UTC) make a backup in FOLDER that its date names"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    // A daemon that runs on the same machine goes first.
    Niceness.background.apply()
    let path = try arguments.operand("the folder of the backup")
    guard let nightly = arguments["--nightly"] else {
      return arguments.has("--check") ? try check(path, arguments) : try make(path, arguments)
    }
    guard !arguments.has("--check") else { throw .usage("--nightly makes backups, --check none") }
    return try makeNightly(nightly, in: path, arguments)
  }

  /// Makes a backup at a time of every day until it is asked to end. One that fails ends it, so
  /// that what runs it notices.
  private static func makeNightly(
    _ text: String, in folder: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    guard text.utf8.count == 5, let time = Timestamp.parse("1970-01-01T\(text):00Z") else {
      throw .usage("--nightly takes a time of the day in UTC, such as 03:30")
    }
    try requireWritable(folder)
    let cancellation = Cancellation()
    let interruption = Interruption.started(cancellation)
    while true {
      let (now, day) = (Clock.now(), Int64(86_400_000))
      let next = now + day - (now - time) % day
      Terminal.error("subledger backup: the next one is at \(Timestamp.text(next))")
      // The clock may be set meanwhile.
      while Clock.now() < next, !cancellation.isRequested {
        cancellation.wait(milliseconds: min(60_000, next - Clock.now()))
      }
      if cancellation.isRequested { return .good }
      _ = try make(
        "\(folder)/subledger-\(Timestamp.text(next).prefix(10))", arguments, interruption)
    }
  }

  /// A folder that cannot be written is told now, and not at night.
  private static func requireWritable(_ folder: String) throws(LedgerError) {
    let probe = "\(folder)/.subledger-\(Clock.now())"
    do throws(LedgerError) {
      try DurableFile.write([], to: probe)
      try DurableFile.remove(probe)
    } catch {
      throw .unavailable("no backup can be made in \(folder): \(error.detail)")
    }
  }

  private static func make(
    _ path: String, _ arguments: Arguments, _ interruption: Interruption = .started()
  ) throws(LedgerError) -> ExitCode {
    let folder = try arguments.readableFolder()
    let observer = BackupObserver("backup", interruption)
    let manifest: BackupManifest
    do throws(LedgerError) {
      manifest = try Backup.run(
        folder, to: path, program: Subledger.version, now: Clock.now(),
        threads: ProcessLimits.processors, progress: observer.shouldContinue)
    } catch {
      throw failure(error, next: "no backup was made; see: subledger verify")
    }
    observer.finish(manifest.head.seq)
    guard case .object(let members) = manifest.json else { return .good }
    Terminal.print(
      .object(members + [("path", .string(path))]),
      or: text(manifest, path).joined(separator: "\n"), arguments)
    return .good
  }

  private static func check(
    _ path: String, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let observer = BackupObserver("check")
    let report: CheckReport
    do throws(LedgerError) {
      report = try BackupCheck.run(
        path, threads: ProcessLimits.processors, progress: observer.shouldContinue)
    } catch {
      throw failure(error, next: "name the folder that backup made, or use an older one")
    }
    observer.finish(report.events)
    let isGood = report.findings.isEmpty
    return report.findings.report(
      [
        ("object", .string("backup_check")), ("path", .string(path)),
        ("backup", report.manifest?.json ?? .null), ("events", .integer(report.events)),
      ],
      report.manifest.flatMap { isGood ? text($0, path) : nil }
        ?? ["the backup has changed since it was made; use an older one"], arguments)
  }

  private static func text(_ manifest: BackupManifest, _ path: String) -> [String] {
    let size = ReadableUnits.size(bytes: manifest.files.reduce(0) { $0 + $1.bytes })
    return [
      "\(path): \(extent(manifest)), \(size), checked",
      "head \(Hexadecimal.encode(manifest.head.hash))",
    ]
  }

  /// The number of events in a backup, and when the last was received.
  static func extent(_ manifest: BackupManifest) -> String {
    let received = manifest.head.receivedAt.map { ", received through \(Timestamp.text($0))" }
    return "\(CountText.of(manifest.head.seq, "events"))\(received ?? "")"
  }

  /// - Parameter next: the consequence of findings, and the next step.
  static func failure(_ error: LedgerError, next: String) -> LedgerError {
    switch error.code {
    case .stopped: .stopped("stopped; nothing was made")
    case .brokenBackup: .findings(error.message + "\n" + next)
    default: error
    }
  }
}
