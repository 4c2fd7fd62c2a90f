public import JournalStore

/// The shared journal that a ledger's folder is a copy of, and how it is used.
public struct SharedAccess: Sendable {
  /// Makes the connection. Called once, on the thread that uses it.
  public let open: @Sendable () -> any SharedJournal
  /// The longest time from the arrival of a notification to its answer, milliseconds. Later it is
  /// answered 503: Apple sends again after an hour at the earliest, so that a short failover is
  /// better waited for.
  public let holdMilliseconds: Int64
  /// How often an idle ledger looks at the shared journal's head, milliseconds.
  public let pollMilliseconds: Int64

  public init(
    holdMilliseconds: Int64 = 8_000, pollMilliseconds: Int64 = 100,
    open: @escaping @Sendable () -> any SharedJournal
  ) {
    self.open = open
    self.holdMilliseconds = holdMilliseconds
    self.pollMilliseconds = pollMilliseconds
  }
}
