import Platform

/// What somebody may have meant by a name that is not known.
enum Suggestion {
  /// `; did you mean 'events'?`, or an empty text if no known name is like it: the nearest, else
  /// the only one that begins with it.
  static func text(for name: String, among known: [String]) -> String {
    let longer = known.filter { $0.hasPrefix(name) }
    let found =
      Spelling.nearest(to: name, among: known)
      ?? (longer.count == 1 && name.count > 1 ? longer.first : nil)
    return found.map { "; did you mean '\($0)'?" } ?? ""
  }
}
