import Audit
import Clients
import Ledger
import Platform
import SharedJournal
import SignedData
import Store

/// What `doctor` says of the shared journal.
enum SharedJournalCheck {
  private static let topic = "shared journal"
  /// Milliseconds for all of it.
  private static let limit: Int64 = 10_000
  /// Milliseconds that clocks may differ: receive times are those of the daemons.
  private static let clockLimit: Int64 = 1_000
  /// Milliseconds after which a COMMIT that waits for a standby may be cancelled.
  private static let statementLimit: Int64 = 10_000
  /// Events that a copy may lack while daemons append.
  private static let behindLimit: Int64 = 1_000

  /// What is found; empty without `sharedJournal`.
  static func examine(_ configuration: Configuration, _ folder: DataFolder) -> [DoctorCheck] {
    guard let shared = configuration.sharedJournal else { return [] }
    let report: ServerReport
    do throws(LedgerError) {
      report = try ServerReport(shared.settings, by: Deadline(milliseconds: limit))
    } catch {
      return [
        DoctorCheck(
          topic, "cannot be used: \(error)",
          next: "check the server, \"connection\", \"passwordFile\" and the role's rights")
      ]
    }
    return rights(report) + roots(configuration, report) + durability(shared, report)
      + encryption(shared, report) + clock(report) + copy(report, folder) + duties(report)
  }

  private static func rights(_ report: ServerReport) -> [DoctorCheck] {
    var checks = report.excessRights.map { excess in
      DoctorCheck(
        topic, "the role has more rights than it needs: \(excess)",
        next: "give the daemons a role of their own that owns nothing and is a member of the "
          + "schema's daemon role alone")
    }
    if checks.isEmpty { checks = [DoctorCheck(topic, "the role may append and nothing else")] }
    if (1..<statementLimit).contains(report.statementTimeout) {
      checks.append(
        DoctorCheck(
          topic, "the server cancels statements after \(report.statementTimeout) ms",
          next: "raise statement_timeout of the role to 30 s: a COMMIT that waits for a standby is "
            + "cancelled otherwise, and its outcome is not known"))
    }
    return checks
  }

  private static func roots(
    _ configuration: Configuration, _ report: ServerReport
  ) -> [DoctorCheck] {
    if report.trustRoots.isEmpty {
      return [
        DoctorCheck(
          topic, "it names no root certificates: each daemon trusts its own",
          next: "as its owner, run `subledger shared-journal migrate` and `subledger "
            + "shared-journal trust`")
      ]
    }
    guard report.trustRoots == configuration.trustRoots.fingerprints else {
      return [
        DoctorCheck(
          topic, "it names other root certificates than this configuration",
          next: "give \"trustRoots\" of the other daemons, or as its owner run `subledger "
            + "shared-journal trust`")
      ]
    }
    return [DoctorCheck(topic, "every daemon must trust the root certificates of this one")]
  }

  private static func durability(
    _ shared: Configuration.SharedJournal, _ report: ServerReport
  ) -> [DoctorCheck] {
    let standbys = report.durability.synchronousStandbys
    guard standbys.isEmpty else {
      return [DoctorCheck(topic, "a COMMIT waits for the standby (\(standbys))")]
    }
    return [
      DoctorCheck(
        topic,
        "no synchronous standby: what a failover forgets is put back by the daemons that "
          + "have it")
    ]
  }

  private static func encryption(
    _ shared: Configuration.SharedJournal, _ report: ServerReport
  ) -> [DoctorCheck] {
    guard report.isEncrypted else {
      return [DoctorCheck(topic, "the connection does not leave this machine")]
    }
    guard shared.passwordFile == nil || shared.address.requiresChannelBinding else {
      return [
        DoctorCheck(
          topic, "the password is not bound to the TLS connection",
          next: "add channel_binding=require to \"connection\"")
      ]
    }
    return [DoctorCheck(topic, "the connection is encrypted, and the server's name verified")]
  }

  private static func clock(_ report: ServerReport) -> [DoctorCheck] {
    let ahead = Clock.now() - report.durability.clock
    guard ahead.magnitude > clockLimit else { return [] }
    return [
      DoctorCheck(
        topic,
        "this clock is \(ahead.magnitude) ms \(ahead > 0 ? "ahead of" : "behind") the server's",
        next: "run a time service on both: receive times are raised to those of the fastest clock")
    ]
  }

  private static func copy(_ report: ServerReport, _ folder: DataFolder) -> [DoctorCheck] {
    guard let copied = SharedJournalStatus.copied(folder) else { return [] }
    var checks: [DoctorCheck] = []
    if copied.faults != .none {
      checks.append(
        DoctorCheck(
          topic, "this copy does not believe: \(copied.faults.text)", next: CopyFaults.next))
    }
    let behind = report.seq - copied.seq
    guard behind > behindLimit else {
      return checks + [DoctorCheck(topic, "this copy has seq \(copied.seq) of \(report.seq)")]
    }
    return checks + [
      DoctorCheck(
        topic, "this copy lacks \(CountText.of(behind, "events"))",
        next: "start the daemon, or read its log for shared_journal_unavailable")
    ]
  }

  private static func duties(_ report: ServerReport) -> [DoctorCheck] {
    // Nobody has the duty of judging once all is judged.
    let free = report.duties.filter { !$0.isHeld && $0.name != Duty.evidence.rawValue }.map(\.name)
    guard !free.isEmpty else { return [] }
    return [
      DoctorCheck(
        topic, "nobody does: \(free.joined(separator: ", "))",
        next: "start a daemon: one of them takes each duty within a minute")
    ]
  }
}
