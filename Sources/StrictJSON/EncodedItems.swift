/// The items of a page, each encoded when it is added: a page is bounded in items and in bytes, and
/// as a tree it would take ten times as much memory.
public struct EncodedItems: Sendable {
  /// Bytes after which a page ends.
  public static let pageBytes = 1024 * 1024

  /// Encoded values.
  public private(set) var items: [JSONValue] = []
  private var bytes = 0
  private let limit: Int

  /// - Parameter limit: the most items.
  public init(limit: Int) { self.limit = limit }

  /// Whether nothing more may be added. The item by which it gets full is in it, so that every page
  /// has at least one.
  public var isFull: Bool { items.count >= limit || bytes >= Self.pageBytes }

  public mutating func append(_ item: JSONValue) {
    let text = item.bytes
    bytes += text.count
    items.append(.encoded(text))
  }
}
