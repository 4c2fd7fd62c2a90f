/// Why there are no figures.
enum BenchError: Error {
  case usage(String)
  /// A part of the measurement could not be made; a target missed is no error.
  case unmeasurable(String)
}
