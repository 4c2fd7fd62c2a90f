extension Dictionary<String, Int64> {
  /// A copy that shares no storage with this one, to be returned from within a lock. The thread
  /// sanitizer does not know that uniquely referenced storage may be written to (`.ci/sanitize`).
  package var detachedCopy: Self { Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) }) }
}
