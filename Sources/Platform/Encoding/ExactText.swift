/// A text that is compared by its bytes, as the key of a set or a dictionary.
///
/// SQL compares ids by bytes. `String` also takes two spellings of one accent for the same, and one
/// customer's id must never stand for another's.
public struct ExactText: Sendable, Hashable {
  public let text: String

  public init(_ text: String) { self.text = text }

  public static func == (left: ExactText, right: ExactText) -> Bool {
    ByteSearch.areEqual(left.text, right.text)
  }
}

extension Dictionary where Key == String {
  /// The value of the key that has these bytes.
  public subscript(exactly key: String) -> Value? {
    guard let place = index(forKey: key), ByteSearch.areEqual(self[place].key, key) else {
      return nil
    }
    return self[place].value
  }
}

extension Set<String> {
  /// Whether an element has these bytes.
  public func contains(exactly text: String) -> Bool {
    firstIndex(of: text).map { ByteSearch.areEqual(self[$0], text) } ?? false
  }
}
