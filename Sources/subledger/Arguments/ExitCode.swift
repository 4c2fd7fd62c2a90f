import Platform
import Store

/// The exit codes of every command.
enum ExitCode: Int32, CaseIterable {
  case good = 0
  case findings = 1
  case usage = 2
  case unavailable = 3
  case newer = 4
  /// 128 plus the number of SIGINT, as shells report it.
  case interrupted = 130

  /// In a few words, for the list of commands.
  var summary: String {
    switch self {
    case .good: "good"
    case .findings: "findings"
    case .usage: "usage"
    case .unavailable: "unavailable"
    case .newer: "data from a newer version"
    case .interrupted: "stopped by ^C"
    }
  }

  var meaning: String {
    switch self {
    case .good: "Good: the command did what it was asked to do, and there are no findings."
    case .findings:
      "Findings: a difference, a broken proof, a refused line, or nothing found for an id."
    case .usage:
      "Usage: an argument or the SQL of a query is wrong, or the configuration is refused."
    case .unavailable:
      "Unavailable: the data is locked or missing, the disk or the network failed, or a query "
        + "reached its limit of time or memory. The same command may succeed later."
    case .newer: "The data is from a newer version of subledger. Nothing was changed."
    case .interrupted:
      "Stopped: ^C ended the command before it was done. serve and demo end in order, with 0."
    }
  }

  /// The one mapping of errors to exit codes.
  init(_ error: LedgerError) {
    switch error.kind {
    case _ where [.newer, .sharedNewer].contains(error.code): self = .newer
    case _ where error.code == .stopped: self = .interrupted
    case .damaged: self = .findings
    case .usage: self = .usage
    case .temporary, .fatal: self = .unavailable
    }
  }
}
