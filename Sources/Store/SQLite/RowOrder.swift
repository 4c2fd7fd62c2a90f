import Platform

/// Checks that rows come in ascending order of their ids.
///
/// Rows are read in batches, each after the last id of the batch before. A damaged file may return
/// rows in another order than the query asks for, and such a reader would then never finish.
enum RowOrder {
  /// Returns `id` + 1.
  ///
  /// - Throws: `LedgerError.corrupt` when `id` is less than `start`.
  static func successor(of id: Int64, atLeast start: Int64) throws(LedgerError) -> Int64 {
    guard (start..<Int64.max).contains(id) else { throw .corrupt("the order of rows") }
    return id + 1
  }
}

extension Array {
  /// The array itself, if its ids are strictly ascending and greater than `start`.
  ///
  /// - Throws: `LedgerError.corrupt` when they are not.
  func ascending(
    after start: Int64, _ id: (Element) -> Int64
  ) throws(LedgerError) -> [Element] {
    var next = start == .max ? start : start + 1
    for element in self { next = try RowOrder.successor(of: id(element), atLeast: next) }
    return self
  }
}
