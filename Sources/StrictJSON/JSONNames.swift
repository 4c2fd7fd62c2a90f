/// The member names a reader knows, found by one look each: so an object is read in one pass over
/// its members, and not in one search for each name.
public struct JSONNames: Sendable {
  private let keys: [NameKey]
  private let texts: [[UInt8]]
  /// Where to look for a hash: a place in `keys`, or `empty`; with room, so that chains are short.
  private let slots: [UInt8]
  private static let empty = UInt8.max

  /// - Parameter names: at most 100, no two the same; a name's place here is what it is called by.
  public init(_ names: [String]) {
    precondition(names.count <= 100, "at most 100 names")
    let texts = names.map { Array($0.utf8) }
    let keys = texts.map { text in
      text.withUnsafeBufferPointer { NameKey($0, from: 0, to: text.count) }
    }
    var slots = [UInt8](repeating: Self.empty, count: 256)
    for (place, key) in keys.enumerated() {
      var slot = Int(key.hash)
      while slots[slot] != Self.empty { slot = (slot + 1) & 255 }
      slots[slot] = UInt8(place)
    }
    (self.texts, self.keys, self.slots) = (texts, keys, slots)
  }

  /// The place of the name that lies there in `bytes`; nil where nobody asked for it.
  func place(
    _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int
  ) -> Int? {
    let key = NameKey(bytes, from: start, to: end)
    var slot = Int(key.hash)
    while slots[slot] != Self.empty {
      let place = Int(slots[slot])
      if keys[place] == key,
        key.isWhole || texts[place].elementsEqual(bytes[start..<end])
      {
        return place
      }
      slot = (slot + 1) & 255
    }
    return nil
  }
}

/// A name's length, its first eight bytes and its last eight: all of it up to sixteen bytes.
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

  /// Whether equal keys mean equal names.
  var isWhole: Bool { count <= 16 }

  /// Good enough for names nobody chose against it; what depends on it is bounded for all others.
  var hash: UInt8 {
    let mixed = (first ^ (last &<< 1 | last &>> 63) ^ UInt64(count)) &* 0x9E37_79B9_7F4A_7C15
    return UInt8(truncatingIfNeeded: mixed &>> 56)
  }
}
