/// A number with the noun that it counts.
enum CountText {
  /// For example `1 event`, `2 events`.
  ///
  /// - Parameter many: the plural, of which the singular lacks the final "s".
  static func of(_ count: some BinaryInteger, _ many: String) -> String {
    "\(count) \(count == 1 && many.hasSuffix("s") ? String(many.dropLast()) : many)"
  }
}
