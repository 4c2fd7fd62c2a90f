import Encoding
import JournalStore
import LedgerAudit
import LedgerEngine
import LedgerQueries
import Platform
import StrictJSON

enum RestoreCommand {
  static func run(_ words: Arguments) throws(CommandError) -> ExitCode {
    let path = try words.only("the folder of the backup")
    let folder = words.folder(try words.configuration())
    let watch = BackupObserver("restore")
    let manifest: BackupManifest
    do throws(BackupError) {
      manifest = try Restore.run(
        path, into: folder, threads: ProcessLimits.processors, progress: watch.shouldContinue)
    } catch {
      throw CommandError(error, broken: "nothing was restored; take an older backup")
    }
    watch.finish(manifest.head.seq)
    if words.has("--json") {
      Terminal.print(json(manifest, folder).text)
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
    What came after \(Timestamp.text(manifest.takenAt)) is not in it. Now:
    1. Make the files the daemon's (chown -R), and start it: it builds the rows, then answers.
    2. Get from Apple what it sent since (App Store Server API, Get Notification History: 180 days
       back, 30 in Sandbox), and hand every signedPayload to `subledger ingest`, one a line as
       {"signedPayload":"…"}. What is there already is a duplicate and changes nothing.
    3. Until then customers are answered as of the backup. Places past seq \(manifest.head.seq)
       are given anew: whoever kept some starts over from there, and so do anchors made past it.
    4. `subledger verify` says whether all is well. README, "Backups", has more.
    """
  }
}
