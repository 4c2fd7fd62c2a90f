/// Whether a projection's file can be used. A projection is never trusted over the journal: one
/// that is neither usable nor another program's is put aside and built again.
public enum ProjectionCondition: Sendable, Equatable {
  case absent
  /// Complete up to this seq; the events after it must be folded.
  case usable(foldedThrough: Int64)
  /// Complete, but of another fold: it may be read until another projection is live.
  case otherFold(foldedThrough: Int64)
  /// Of this fold and journal, but its build was interrupted.
  case unfinished
  /// Complete or not, of a schema that only other programs read.
  case otherLayout
  /// Not readable as a projection.
  case damaged
  /// Of another journal.
  case otherJournal
  /// Folded beyond the journal's head, as after a restore.
  case ahead(foldedThrough: Int64)
  /// Of the same journal, but folded from other events.
  case diverged(foldedThrough: Int64)
}
