/// A promise that does not hold, and where that shows first.
public struct Finding: Sendable, Equatable {
  /// The promise's number.
  public let promise: Int
  /// The event that it is about; nil if it is about something else than one event.
  public let seq: Int64?
  /// What is wrong, without the seq.
  public let what: String
}
