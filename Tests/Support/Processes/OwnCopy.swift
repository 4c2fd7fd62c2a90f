extension Dictionary<String, Int64> {
  /// A copy that shares no memory with this one, for what leaves a lock. The thread sanitizer does
  /// not see that memory which nobody else refers to any more may be written to (`.ci/sanitize`).
  package var own: Self { Dictionary(uniqueKeysWithValues: map { ($0.key, $0.value) }) }
}
