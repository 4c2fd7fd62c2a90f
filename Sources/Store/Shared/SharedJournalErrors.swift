public import Platform

// Why a call of a `SharedJournal` failed. States are such as an SQLSTATE, never messages of a
// server: those can hold values.

extension LedgerError.Code {
  /// Nothing was committed; the same call may succeed later.
  public static let sharedNotNow = Self("shared_not_now")
  /// The commit was sent, and whether it took place is not known.
  public static let sharedUnknown = Self("shared_unknown")
  /// What is there is not what the copy has: the shared journal was restored, or has forgotten.
  public static let sharedDiverged = Self("shared_diverged")
  /// The configuration or the rights are wrong.
  public static let sharedRefused = Self("shared_refused")
  /// The schema is newer than this program.
  public static let sharedNewer = Self("shared_newer")
  /// This daemon trusts other root certificates than the owner of the shared journal says.
  public static let sharedOtherRoots = Self("shared_other_roots")
  /// What was written breaks a rule of the shared journal: a defect, or a change by hand. Nothing
  /// is appended or followed until an operator has removed it; reads go on.
  public static let sharedBroken = Self("shared_broken")

  fileprivate static let ofSharedJournal: Set<Self> = [
    .sharedNotNow, .sharedUnknown, .sharedDiverged, .sharedRefused, .sharedNewer,
    .sharedOtherRoots, .sharedBroken,
  ]
}

extension LedgerError {
  /// Whether the shared journal failed, or refuses.
  public var isOfSharedJournal: Bool { Code.ofSharedJournal.contains(code) }

  public static func sharedNotNow(state: String) -> LedgerError {
    LedgerError(
      .sharedNotNow, .temporary, "the shared journal cannot be used now (\(state))", detail: state)
  }

  public static func sharedUnknown(state: String) -> LedgerError {
    LedgerError(
      .sharedUnknown, .temporary, "whether the shared journal committed is not known (\(state))",
      detail: state)
  }

  public static let sharedDiverged = LedgerError(
    .sharedDiverged, .fatal, "the shared journal does not have what this copy has")

  public static func sharedRefused(state: String) -> LedgerError {
    LedgerError(
      .sharedRefused, .temporary, "the shared journal refuses (\(state))",
      next: "check `sharedJournal` and the role's rights, `subledger doctor` says more",
      detail: state)
  }

  /// What the role that makes the tables may not do, and the right that it needs.
  public static func sharedRightMissing(_ what: String, _ right: String) -> LedgerError {
    LedgerError(
      .sharedRefused, .temporary, "the database refuses the role of --connection (42501): \(what)",
      next: "it needs \(right)", detail: "42501")
  }

  public static func sharedNewer(found: Int, known: Int) -> LedgerError {
    LedgerError(
      .sharedNewer, .usage, "the shared journal has schema \(found), this program knows \(known)",
      next: "run the newer program")
  }

  public static func sharedOtherRoots(state: String) -> LedgerError {
    LedgerError(
      .sharedOtherRoots, .usage,
      "this daemon trusts other root certificates than the shared journal's owner says (\(state))",
      next: "give it the \"trustRoots\" of the other daemons, or let the owner run "
        + "`subledger shared-journal trust`", detail: state)
  }

  public static func sharedBroken(state: String) -> LedgerError {
    LedgerError(
      .sharedBroken, .temporary, "the shared journal holds what no program wrote (\(state))",
      next: "find out with `subledger doctor` and the server's log which role wrote it, and "
        + "restore the shared journal to before it", detail: state)
  }
}
