import Audit
import Clients
import Ledger
import Platform
import SharedJournal
import SignedData
import Store

/// What `doctor` says of the shared journal.
extension Doctor {
  /// Milliseconds for all of it.
  private static let serverLimit: Int64 = 10_000
  /// Milliseconds that clocks may differ: receive times are those of the daemons.
  private static let clockLimit: Int64 = 1_000
  /// Milliseconds after which a COMMIT that waits for a standby may be cancelled.
  private static let statementLimit: Int64 = 10_000
  /// Events that a copy may lack while daemons append.
  private static let behindLimit: Int64 = 1_000

  /// Finds nothing without `sharedJournal`.
  func examineSharedJournal() {
    guard let shared = configuration.sharedJournal else { return }
    let server: ServerReport
    do throws(LedgerError) {
      server = try ServerReport(shared.settings, by: Deadline(milliseconds: Self.serverLimit))
    } catch {
      return reportFinding(
        "cannot be used: \(error.message)",
        next: "check the server, \"connection\", \"passwordFile\" and the role's rights")
    }
    examineRights(server)
    examineRoots(server)
    examineNotes(server)
    examineDurability(server)
    examineEncryption(shared, server)
    examineClock(server)
    examineCopy(server)
    examineDuties(server)
  }

  private func examineRights(_ server: ServerReport) {
    for excess in server.excessRights {
      reportFinding(
        "the role has more rights than it needs: \(excess)",
        next: "give the daemons a role of their own that owns nothing and is a member of the "
          + "schema's daemon role alone")
    }
    if server.excessRights.isEmpty { report("the role may append and nothing else") }
    if (1..<Self.statementLimit).contains(server.statementTimeout) {
      reportFinding(
        "the server cancels statements after \(server.statementTimeout) ms",
        next: "raise statement_timeout of the role to 30 s: a COMMIT that waits for a standby is "
          + "cancelled otherwise, and its outcome is not known")
    }
  }

  private func examineRoots(_ server: ServerReport) {
    if server.trustRoots.isEmpty {
      reportFinding(
        "it names no root certificates: each daemon trusts its own",
        next: "as its owner, run `subledger shared-journal migrate` and `subledger "
          + "shared-journal trust`")
    } else if server.trustRoots != configuration.trustRoots.fingerprints {
      reportFinding(
        "it names other root certificates than this configuration",
        next: "give \"trustRoots\" of the other daemons, or as its owner run `subledger "
          + "shared-journal trust`")
    } else {
      report("every daemon must trust the root certificates of this one")
    }
  }

  private func examineNotes(_ server: ServerReport) {
    guard server.emptiedNotes > 0 else { return }
    reportFinding(
      "a new copy will lack what was emptied: \(CountText.of(server.emptiedNotes, "notes"))",
      next: "keep a copy that has it, run `subledger shared-journal migrate` so that the server "
        + "refuses that, and take the rights of the role that did it away")
  }

  private func examineDurability(_ server: ServerReport) {
    let standbys = server.durability.synchronousStandbys
    report(
      standbys.isEmpty
        ? "no synchronous standby: what a failover forgets is put back by the daemons that have it"
        : "a COMMIT waits for the standby (\(standbys))")
  }

  private func examineEncryption(
    _ shared: Configuration.SharedJournal, _ server: ServerReport
  ) {
    if !server.isEncrypted {
      report("the connection does not leave this machine")
    } else if shared.passwordFile != nil, !shared.address.requiresChannelBinding {
      reportFinding(
        "the password is not bound to the TLS connection",
        next: "add channel_binding=require to \"connection\"")
    } else {
      report("the connection is encrypted, and the server's name verified")
    }
  }

  private func examineClock(_ server: ServerReport) {
    let ahead = Clock.now() - server.durability.clock
    guard ahead.magnitude > Self.clockLimit else { return }
    reportFinding(
      "this clock is \(ahead.magnitude) ms \(ahead > 0 ? "ahead of" : "behind") the server's",
      next: "run a time service on both: receive times are raised to those of the fastest clock")
  }

  private func examineCopy(_ server: ServerReport) {
    guard let copied = SharedJournalStatus.copied(folder) else { return }
    if copied.faults != .none {
      reportFinding("this copy does not believe: \(copied.faults.text)", next: CopyFaults.next)
    }
    let behind = server.seq - copied.seq
    guard behind > Self.behindLimit else {
      return report("this copy has seq \(copied.seq) of \(server.seq)")
    }
    reportFinding(
      "this copy lacks \(CountText.of(behind, "events"))",
      next: "start the daemon, or read its log for shared_journal_unavailable")
  }

  private func examineDuties(_ server: ServerReport) {
    // Nobody has the duty of judging once all is judged.
    let free = server.duties.filter { !$0.isLeased && $0.name != Duty.evidence.rawValue }.map(
      \.name)
    guard !free.isEmpty else { return }
    reportFinding(
      "nobody does: \(free.joined(separator: ", "))",
      next: "start a daemon: one of them takes each duty within a minute")
  }
}
