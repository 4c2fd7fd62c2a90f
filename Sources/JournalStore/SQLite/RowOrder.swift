/// Rows are read in pieces, each behind the last row of the one before. A damaged file may hand
/// them out in another order than it was asked for: whoever believed it would go round for ever.
enum RowOrder {
  /// The number behind `number`, which must not lie before `start`.
  static func next(_ number: Int64, from start: Int64) throws(StoreError) -> Int64 {
    guard (start..<Int64.max).contains(number) else { throw .corrupt("the order of rows") }
    return number + 1
  }
}

extension Array {
  /// Itself, where its numbers rise.
  ///
  /// - Throws: `corrupt` where one is not greater than the one before, the first not than `start`.
  func inOrder(
    after start: Int64, _ number: (Element) -> Int64
  ) throws(StoreError) -> [Element] {
    var next = start == .max ? start : start + 1
    for element in self { next = try RowOrder.next(number(element), from: next) }
    return self
  }
}
