public import AppStore
public import Entitlements

/// What rows say of streams, as of an event.
///
/// The append of evidence is given it, so that it sees sooner what says something new than by all
/// events of the stream. A row is disposable: a wrong one keeps no evidence out of the journal.
public struct RowStates {
  /// All rows are folded through it.
  public let seq: Int64
  /// What the row of a stream says; nil if it has none, or cannot be read. Called only for what is
  /// not in the journal.
  let state: (StreamKey) -> StreamState?

  public init(seq: Int64 = 0, state: @escaping (StreamKey) -> StreamState? = { _ in nil }) {
    (self.seq, self.state) = (seq, state)
  }
}
