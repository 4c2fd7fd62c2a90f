/// Which strings a state's writer has written, by number.
///
/// By bytes: what `String` takes for equal may be written in two ways, and which one came first
/// must not show (promise 6).
struct WrittenStrings {
  private struct Place {
    let start: Int
    let count: Int
    let hash: UInt64
  }

  /// All of them, one behind the other.
  private var bytes: [UInt8] = []
  private var places: [Place] = []
  /// The number of a string, 0 for none, at its hash or behind it; a power of two of them, at
  /// least half of them free.
  private var slots = [Int32](repeating: 0, count: 256)

  /// With what Apple writes for everybody.
  static let words: WrittenStrings = {
    var strings = WrittenStrings()
    for var word in StateWords.all { word.withUTF8 { strings.add($0, hash($0)) } }
    return strings
  }()

  private init() {}

  /// Counting from 1 in the order they were added; nil where it was not.
  func number(of text: UnsafeBufferPointer<UInt8>, _ hash: UInt64) -> Int? {
    var slot = first(hash)
    while slots[slot] != 0 {
      let number = Int(slots[slot])
      let place = places[number - 1]
      if place.hash == hash, place.count == text.count, areEqual(place, text) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds one that is nowhere yet.
  mutating func add(_ text: UnsafeBufferPointer<UInt8>, _ hash: UInt64) {
    places.append(Place(start: bytes.count, count: text.count, hash: hash))
    bytes += text
    insert(places.count, hash)
    guard places.count * 2 > slots.count else { return }
    slots = [Int32](repeating: 0, count: slots.count * 2)
    for (index, place) in places.enumerated() { insert(index + 1, place.hash) }
  }

  private mutating func insert(_ number: Int, _ hash: UInt64) {
    var slot = first(hash)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = Int32(truncatingIfNeeded: number)
  }

  private func first(_ hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash >> 32) & (slots.count - 1)
  }

  private func areEqual(_ place: Place, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.withUnsafeBufferPointer { bytes in
      for at in 0..<place.count where bytes[place.start + at] != text[at] { return false }
      return true
    }
  }

  /// Of every byte, eight at a time. Not seeded: nobody but Apple, and whoever can write to
  /// the rows' file, chooses these strings.
  static func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
    let bytes = UnsafeRawBufferPointer(text)
    var hash = UInt64(bytes.count) &* 0x9E37_79B9_7F4A_7C15
    var at = 0
    while at + 8 <= bytes.count {
      hash = mix(hash, bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      at += 8
    }
    var rest: UInt64 = 0
    while at < bytes.count {
      rest = rest << 8 | UInt64(bytes[at])
      at += 1
    }
    return mix(hash, rest)
  }

  private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word).multipliedFullWidth(by: 0x9FB2_1C65_1E98_DF25)
    return product.high ^ product.low
  }
}
