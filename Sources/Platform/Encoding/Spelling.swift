/// Finds a name that is misspelt among those that are known.
public enum Spelling {
  /// The known name that the fewest edits make of `name`, at most one for every three characters.
  public static func nearest(to name: String, among known: [String]) -> String? {
    let characters = Array(name.lowercased())
    guard characters.count <= longest else { return nil }
    let distances = known.map { ($0, distance(characters, Array($0.lowercased()))) }
    if let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= max(1, characters.count / 3) {
      return best.0
    }
    return nil
  }

  /// Longer names are not compared, because the time grows with the length.
  private static let longest = 100

  /// How many characters must be inserted, removed or replaced, or neighbours exchanged, to make
  /// one text of the other (optimal string alignment).
  private static func distance(_ one: [Character], _ other: [Character]) -> Int {
    var before: [Int] = []
    var last = Array(0...other.count)
    for (row, character) in one.enumerated() {
      var next = [row + 1]
      for (column, candidate) in other.enumerated() {
        var least = min(last[column + 1] + 1, next[column] + 1)
        least = min(least, last[column] + (character == candidate ? 0 : 1))
        if row > 0, column > 0, one[row - 1] == candidate, character == other[column - 1] {
          least = min(least, before[column - 1] + 1)
        }
        next.append(least)
      }
      (before, last) = (last, next)
    }
    return last[other.count]
  }
}
