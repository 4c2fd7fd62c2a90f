/// Why a run has no results.
enum BenchError: Error {
  /// Wrong arguments; the text names them.
  case usage(String)
  /// A part of the measurement could not be made. A missed target is not an error.
  case unmeasurable(String)
}
