/// Why a call of a `SharedJournal` failed. Texts are states such as an SQLSTATE, never messages of
/// a server: those can hold values.
public enum SharedJournalError: Error, Sendable, Equatable {
  /// Nothing was committed; the same call may succeed later.
  case notNow(state: String)
  /// The commit was sent, and whether it took place is not known.
  case unknown(state: String)
  /// What is there is not what the copy has: the shared journal was restored, or has forgotten.
  case diverged
  /// The configuration or the rights are wrong. The state is for an operator.
  case refused(state: String)
  /// The schema is newer than this program.
  case newer(found: Int, known: Int)
  /// This daemon trusts other root certificates than the owner of the shared journal says.
  case otherRoots(state: String)
  /// What was written breaks a rule of the shared journal: a defect, or a change by hand. Nothing
  /// is appended or followed until an operator has removed it; reads go on.
  case broken(state: String)
}

extension SharedJournalError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notNow(let state): "the shared journal cannot be used now (\(state))"
    case .unknown(let state): "whether the shared journal committed is not known (\(state))"
    case .diverged: "the shared journal does not have what this copy has"
    case .refused(let state):
      "the shared journal refuses (\(state)); check `sharedJournal` and the role's rights, "
        + "`subledger doctor` says more"
    case .newer(let found, let known):
      "the shared journal has schema \(found), this program knows \(known); run the newer program"
    case .otherRoots(let state):
      "this daemon trusts other root certificates than the shared journal's owner says (\(state)); "
        + "give it the \"trustRoots\" of the other daemons, or let the owner run "
        + "`subledger shared-journal trust`"
    case .broken(let state):
      "the shared journal holds what no program wrote (\(state)); find out with `subledger doctor` "
        + "and the server's log which role wrote it, and restore the shared journal to before it"
    }
  }
}
