/// The strings that a `StateWriter` has written so far, each with its number: a hash table with
/// linear probing.
///
/// Strings are compared by bytes. `String` calls two texts equal that differ in bytes (canonical
/// equivalence), and then the encoding would depend on which of them arrived first (promise 6).
struct StringTable {
  private struct Entry {
    /// Index of the string's first byte in `bytes`.
    let start: Int
    let count: Int
    let hash: UInt64
  }

  /// All strings, concatenated.
  private var bytes: [UInt8] = []
  /// In the order of their numbers.
  private var entries: [Entry] = []
  /// Numbers of strings, 0 for a free slot. The size is a power of two, and at least half of the
  /// slots are free.
  private var slots = [Int32](repeating: 0, count: 256)

  /// The table with `PredefinedStrings`, which every writer starts from.
  static let predefined: StringTable = {
    var table = StringTable()
    for var string in PredefinedStrings.all { string.withUTF8 { table.add($0, hash($0)) } }
    return table
  }()

  private init() {}

  /// The number of a string, counted from 1 in the order of insertion; nil if it was never added.
  func number(of text: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> Int? {
    var slot = first(hash)
    while slots[slot] != 0 {
      let number = Int(slots[slot])
      let entry = entries[number - 1]
      if entry.hash == hash, entry.count == text.count, areEqual(entry, text) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds a string that is not in the table yet, and gives it the next number.
  mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ hash: UInt64) {
    entries.append(Entry(start: bytes.count, count: text.count, hash: hash))
    bytes += text
    insert(entries.count, hash)
    guard entries.count * 2 > slots.count else { return }
    slots = [Int32](repeating: 0, count: slots.count * 2)
    for (index, entry) in entries.enumerated() { insert(index + 1, entry.hash) }
  }

  private mutating func insert(_ number: Int, _ hash: UInt64) {
    var slot = first(hash)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = Int32(truncatingIfNeeded: number)
  }

  private func first(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash >> 32) & (slots.count - 1)
  }

  private func areEqual(_ entry: Entry, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      for index in 0..<entry.count where bytes[entry.start + index] != text[index] { return false }
      return true
    }
  }

  /// Hashes all bytes, eight at a time. It needs no random seed against chosen collisions: only
  /// Apple, and a process that can write to the projection's file, chooses these strings.
  static func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
    let bytes = UnsafeRawBufferPointer(text)
    var hash = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15
    var offset = 0
    while offset + 8 <= bytes.count {
      hash = mix(hash, bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset += 1
    }
    return mix(hash, rest)
  }

  private static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    let product = (hash ^ value).multipliedFullWidth(by: 0x9FB2_1C65_1E98_DF25)
    return product.high ^ product.low
  }
}
