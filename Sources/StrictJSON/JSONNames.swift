/// The member names that a reader knows, in a hash table: an object is then read in one pass over
/// its members instead of one search for each name.
public struct JSONNames: Sendable {
  private let keys: [NameKey]
  private let texts: [[UInt8]]
  /// Maps a hash to an index of `keys`, or to `empty`. More than twice the size of `keys`, so that
  /// probes are short.
  private let slots: [UInt8]
  private static let empty = UInt8.max

  /// How many names there are.
  public var count: Int { keys.count }

  /// - Parameter names: at most 100 different names. Members are reported by the index here.
  public init(_ names: [String]) {
    precondition(names.count <= 100, "at most 100 names")
    let texts = names.map { Array($0.utf8) }
    let keys = texts.map { text in
      text.withUnsafeBufferPointer { NameKey($0, from: 0, to: text.count) }
    }
    var slots = [UInt8](repeating: Self.empty, count: 256)
    for (index, key) in keys.enumerated() {
      var slot = Int(key.hash)
      while slots[slot] != Self.empty { slot = (slot + 1) & 255 }
      slots[slot] = UInt8(index)
    }
    (self.texts, self.keys, self.slots) = (texts, keys, slots)
  }

  /// The index of the name in that range of `bytes`; nil if it is not a known name.
  func index(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int
  ) -> Int? {
    let key = NameKey(bytes, from: start, to: end)
    var slot = Int(key.hash)
    while slots[slot] != Self.empty {
      let index = Int(slots[slot])
      if keys[index] == key,
        key.isWhole || texts[index].elementsEqual(bytes[start..<end])
      {
        return index
      }
      slot = (slot + 1) & 255
    }
    return nil
  }
}

/// The length of a name, its first eight bytes and its last eight: the whole name up to sixteen
/// bytes.
struct NameKey: Equatable {
  private let first: UInt64
  private let last: UInt64
  private let count: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int) {
    count = end - start
    if count >= 8 {
      let text = UnsafeRawBufferPointer(bytes)
      first = text.loadUnaligned(fromByteOffset: start, as: UInt64.self)
      last = text.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self)
    } else {
      var word: UInt64 = 0
      for at in start..<end { word = word << 8 | UInt64(bytes[at]) }
      (first, last) = (word, 0)
    }
  }

  /// Whether an equal key means an equal name.
  var isWhole: Bool { count <= 16 }

  /// Not safe against chosen collisions: each use bounds the work that collisions can cause.
  var hash: UInt8 {
    let mixed = (first ^ (last &<< 1 | last &>> 63) ^ UInt64(count)) &* 0x9E37_79B9_7F4A_7C15
    return UInt8(truncatingIfNeeded: mixed &>> 56)
  }
}
