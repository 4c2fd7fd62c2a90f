import Encoding
import JournalStore
import LedgerAudit
import Platform
import StrictJSON

/// `backup`: one folder with everything that cannot be made again, or a look whether an old one is
/// still that.
enum BackupCommand {
  static let flags: [Command.Flag] = [
    .init("--check", "look at the backup FOLDER instead of making one; changes nothing"), .json,
  ]

  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    // A daemon may be running beside it.
    ProcessLimits.yield(.toAll)
    let path = try words.only("the folder of the backup")
    return words.has("--check") ? try check(path, words) : try make(path, words)
  }

  private static func make(
    _ path: String, _ words: Arguments
  ) throws(CommandError) -> ExitCode {
    let folder = words.folder(try words.configuration())
    let watch = BackupObserver("backup")
    let manifest: BackupManifest
    do throws(BackupError) {
      manifest = try Backup.run(
        folder, to: path, program: Subledger.version, now: Clock.now(),
        threads: ProcessLimits.processors, progress: watch.shouldContinue)
    } catch {
      throw CommandError(error, broken: "no backup was made; see: subledger verify")
    }
    watch.finish(manifest.head.seq)
    show(manifest, path, words)
    return .good
  }

  private static func check(
    _ path: String, _ words: Arguments
  ) throws(CommandError) -> ExitCode {
    let watch = BackupObserver("check")
    let report: BackupCheck.Report
    do throws(BackupError) {
      report = try BackupCheck.run(
        path, threads: ProcessLimits.processors, progress: watch.shouldContinue)
    } catch {
      throw CommandError(error, broken: "take an older backup")
    }
    watch.finish(report.events)
    if words.has("--json") {
      Terminal.print(json(report, path).text)
    } else if let manifest = report.manifest, report.findingCount == 0 {
      show(manifest, path, words)
    } else {
      Terminal.print(text(report.findings, report.findingCount))
      Terminal.print("the backup is not what was made; take an older one")
    }
    return report.findingCount == 0 ? .good : .findings
  }

  private static func show(
    _ manifest: BackupManifest, _ path: String, _ words: Arguments
  ) {
    guard !words.has("--json") else {
      guard case .object(let members) = manifest.json else { return }
      return Terminal.print(JSONValue.object(members + [("path", .string(path))]).text)
    }
    let size = manifest.files.reduce(0) { $0 + $1.bytes } >> 10
    Terminal.print("\(path): \(extent(manifest)), \(size) KiB, checked")
    Terminal.print("head \(Hexadecimal.encode(manifest.head.hash))")
  }

  /// How far a backup goes.
  static func extent(_ manifest: BackupManifest) -> String {
    let received = manifest.head.receivedAt.map { ", received through \(Timestamp.text($0))" }
    return "\(manifest.head.seq) events\(received ?? "")"
  }

  /// The first findings, a line each.
  static func text(_ findings: [Verify.Finding], _ count: Int) -> String {
    let shown = findings.prefix(20)
    var lines = shown.map { ($0.seq.map { "seq \($0): " } ?? "") + $0.what }
    if count > shown.count { lines.append("and \(count - shown.count) more") }
    return lines.joined(separator: "\n")
  }

  private static func json(_ report: BackupCheck.Report, _ path: String) -> JSONValue {
    .object([
      ("object", .string("backup_check")), ("path", .string(path)),
      ("backup", report.manifest?.json ?? .null), ("events", .integer(report.events)),
      (
        "findings",
        .array(
          report.findings.map {
            .object([("seq", .optional($0.seq)), ("what", .string($0.what))])
          })
      ),
      ("finding_count", .integer(Int64(report.findingCount))),
    ])
  }
}

/// Progress on the terminal, and ^C.
struct BackupObserver: Sendable {
  private let copying: ProgressReporter
  private let checking: ProgressReporter
  private let interruption = Interruption()

  init(_ what: String) {
    copying = ProgressReporter("\(what), files", counting: "MiB")
    checking = ProgressReporter("\(what), events")
    interruption.watch()
  }

  func shouldContinue(_ stage: BackupStage, _ done: Int64, _ all: Int64) -> Bool {
    switch stage {
    case .copying: copying.show(done, of: all)
    case .checking: checking.show(done, of: all)
    }
    return !interruption.isRequested
  }

  func finish(_ events: Int64) { checking.finish(events) }
}

extension CommandError {
  /// - Parameter broken: what follows from findings, and the next step.
  init(_ error: BackupError, broken: String) {
    switch error {
    case .store(let error): self = .store(error)
    case .refused(let text): self = .unavailable(text)
    case .stopped: self = .unavailable("stopped; nothing was made")
    case .broken(let findings, let count):
      self = .findings(BackupCommand.text(findings, count) + "\n" + broken)
    }
  }
}
