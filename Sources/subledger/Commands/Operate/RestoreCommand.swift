import Audit
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `restore`: a backup into an empty data folder.
enum RestoreCommand {
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let path = try arguments.operand("the folder of the backup")
    let folder = arguments.folder(try arguments.configuration())
    let observer = BackupObserver("restore")
    let manifest: BackupManifest
    do throws(LedgerError) {
      manifest = try Restore.run(
        path, into: folder, threads: ProcessLimits.processors, progress: observer.shouldContinue)
    } catch {
      throw BackupCommand.failure(error, next: "nothing was restored; use an older backup")
    }
    observer.finish(manifest.head.seq)
    if arguments.has("--json") {
      Terminal.print(json(manifest, folder))
    } else {
      Terminal.print("\(folder.path): \(BackupCommand.extent(manifest))")
      Terminal.print(nextSteps(manifest))
    }
    return .good
  }

  private static func json(_ manifest: BackupManifest, _ folder: DataFolder) -> JSONValue {
    .object([
      ("object", .string("restored")), ("data", .string(folder.path)),
      ("seq", .integer(manifest.head.seq)),
      ("hash", .string(Hexadecimal.encode(manifest.head.hash))),
      ("received_at", .optional(manifest.head.receivedAt)),
      ("taken_at", .integer(manifest.takenAt)),
    ])
  }

  private static func nextSteps(_ manifest: BackupManifest) -> String {
    """
    The backup has nothing that was received after \(Timestamp.text(manifest.takenAt)). Next steps:
    1. Give the files to the daemon's user (chown -R) and start the daemon. It builds the
       projection, then answers.
    2. Get from Apple what it sent since then: the daemon does it by itself if it has a key
       (appStore in the configuration); otherwise run
       `subledger recover --since \(Timestamp.text(manifest.takenAt))`. Apple has the last 180 days,
       30 in the Sandbox. V1 notifications are not in its history.
    3. Until step 2 is done, answers are as of the backup. Values of seq above
       \(manifest.head.seq) are assigned again: a reader of events that stored a higher one starts
       again from there. Anchors above it no longer match: start a new anchors file.
    4. Check the result with `subledger verify`. In `subledger quarantine list`, admit or drop again
       what was decided after the backup.
    """
  }
}
