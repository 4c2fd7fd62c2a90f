import Delivery
import Ledger
import Platform
import SharedJournal
import Store

/// `shared-journal init` and `detach`: a folder becomes a copy of the shared journal, or stops
/// being one.
enum SharedJournalUpload {
  /// Uploads a journal, with its id, places and chain.
  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let configuration = try arguments.configuration()
    let shared = try SharedJournalCommand.configured(configuration)
    let folder =
      arguments["--from"].map { DataFolder(path: $0) } ?? arguments.folder(configuration)
    let interruption = Interruption.started()
    let reporter = ProgressReporter("upload")
    let isDone = try CopyUpload.run(folder, to: PostgresJournal(shared.settings), now: Clock.now())
    {
      done, total in
      reporter.show(done, of: total)
      return !interruption.isRequested
    }
    guard isDone else {
      throw .stopped("stopped; the same command goes on where it was")
    }
    try leavePlaces(of: folder, shared)
    Terminal.print("\(folder.path) is uploaded, and a copy of the shared journal now.")
    return .good
  }

  /// Where the sinks of the folder are is left for the first daemon that has the duty, whichever it
  /// is.
  private static func leavePlaces(
    of folder: DataFolder, _ shared: Configuration.SharedJournal
  ) throws(LedgerError) {
    guard let places = try SinkPositions.bytes(of: folder) else {
      return
    }
    let table = PostgresDutyTable(shared.settings)
    let (deadline, name) = (Deadline(milliseconds: 10_000), Duty.sinks.rawValue)
    // Held by a daemon, it is saved already.
    guard let lease = try table.take(name, for: "shared-journal init", by: deadline) else {
      return
    }
    if lease.position == nil { _ = try table.save(places, of: name, lease, by: deadline) }
    try table.release(name, lease, by: deadline)
  }

  static func detach(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    let folder = try arguments.journalFolder()
    let lock = try folder.lock()
    let wasCopy = try Journal.detach(folder, lock: lock, now: Clock.now())
    Terminal.print(
      wasCopy
        ? "\(folder.path) is a journal of its own now; remove \"sharedJournal\" from the "
          + "configuration."
        : "\(folder.path) is no copy of a shared journal; nothing was changed.")
    return .good
  }
}
