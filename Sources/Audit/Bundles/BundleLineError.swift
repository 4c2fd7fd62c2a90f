/// A line that is not what a bundle must have there. It ends the check.
struct BundleLineError: Error {
  /// What is wrong, as text after the line's number.
  let what: String
}
