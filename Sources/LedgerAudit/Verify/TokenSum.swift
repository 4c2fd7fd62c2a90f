import JournalStore
import SignedData

/// What a set of ids and of the rows they lead to comes to, in whatever order they are met. Each is
/// in it once, so two sets do not come to the same by chance.
struct TokenSum: Equatable {
  private var sum = [UInt8](repeating: 0, count: 32)

  /// - Parameter kind: the place of the id's list in `ProjectedRow.lists`.
  mutating func add(_ kind: Int, _ value: String, _ key: StreamKey?) {
    let parts = [
      value, key?.environment ?? "", key?.bundleId ?? "", key?.originalTransactionId ?? "",
    ]
    var bytes = [UInt8(truncatingIfNeeded: kind)]
    for part in parts {
      withUnsafeBytes(of: part.utf8.count.bigEndian) { bytes.append(contentsOf: $0) }
      bytes += part.utf8
    }
    for (place, byte) in SHA256.hash(bytes).enumerated() { sum[place] ^= byte }
  }

  mutating func add(_ row: ProjectedRow) {
    for (kind, values) in row.lists.enumerated() {
      for value in Set(values) { add(kind, value, row.key) }
    }
  }
}
