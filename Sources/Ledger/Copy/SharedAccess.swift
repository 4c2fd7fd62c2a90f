public import SignedData
public import Store

/// The shared journal that a ledger's folder is a copy of, and how it is used.
public struct SharedAccess: Sendable {
  /// Makes the connection. Called once, on the thread that uses it.
  let open: @Sendable () -> any SharedJournal
  /// Makes the connection of the thread that takes duties; nil where a test has no such thread.
  let openDuties: (@Sendable () -> any DutyTable)?
  /// The longest time from the arrival of a notification to its answer, milliseconds. Later it is
  /// answered 503: Apple sends again after an hour at the earliest, so that a short failover is
  /// better waited for.
  let holdMilliseconds: Int64
  /// How often an idle ledger looks at the shared journal's head, milliseconds.
  let pollMilliseconds: Int64
  /// Whether each read waits until the rows have all that the shared journal has.
  let readsAreFresh: Bool

  /// What proves the events that others appended; nil where a test appends what nobody signed.
  let trustRoots: TrustRoots?

  public init(
    trustRoots: TrustRoots? = nil,
    holdMilliseconds: Int64 = 8_000, pollMilliseconds: Int64 = 100, readsAreFresh: Bool = false,
    openDuties: (@Sendable () -> any DutyTable)? = nil,
    open: @escaping @Sendable () -> any SharedJournal
  ) {
    self.open = open
    self.trustRoots = trustRoots
    self.openDuties = openDuties
    self.holdMilliseconds = holdMilliseconds
    self.pollMilliseconds = pollMilliseconds
    self.readsAreFresh = readsAreFresh
  }
}
