/// Why there are no figures.
enum BenchError: Error {
  /// Wrong words; the text says which.
  case usage(String)
  /// A part of the measurement could not be made; a target missed is no error.
  case unmeasurable(String)
}
