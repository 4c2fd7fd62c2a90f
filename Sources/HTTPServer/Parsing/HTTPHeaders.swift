/// The header fields of one request, in order, as received; names are matched without case.
///
/// The bytes of the head are kept as they came and the fields are places in them, so that a head
/// costs two allocations however many fields it has, and a value becomes a `String` only when asked
/// for. Everything in it is visible ASCII, space or tab: the parser lets nothing else pass.
public struct HTTPHeaders: Sendable {
  struct Field: Sendable {
    let name: Range<UInt16>
    let value: Range<UInt16>
  }

  private let text: [UInt8]
  private let fields: [Field]

  /// Takes over a head and the places of its fields; a head is far shorter than 64 KiB.
  init(text: [UInt8], fields: [Field]) {
    self.text = text
    self.fields = fields
  }

  /// Fields from pairs, for requests that did not come over a wire.
  public init(_ pairs: [(name: String, value: String)] = []) {
    var text: [UInt8] = []
    var fields: [Field] = []
    // Clamped like the parser would never need to: past 64 KiB a made-up field is cut off.
    func place(_ part: String) -> Range<UInt16> {
      let start = UInt16(clamping: text.count)
      text.append(contentsOf: part.utf8)
      return start..<UInt16(clamping: text.count)
    }
    for pair in pairs {
      fields.append(Field(name: place(pair.name), value: place(pair.value)))
    }
    self.init(text: text, fields: fields)
  }

  public var count: Int { fields.count }

  /// The value of the first field of this name, without surrounding white space.
  public func first(_ name: String) -> String? {
    for field in fields where matches(field, name) { return string(field.value) }
    return nil
  }

  /// The values of all fields of this name, in the order received.
  public func all(_ name: String) -> [String] {
    var values: [String] = []
    for field in fields where matches(field, name) { values.append(string(field.value)) }
    return values
  }

  /// Compares bytes without case; no string is made for a field that nobody wants.
  private func matches(_ field: Field, _ name: String) -> Bool {
    guard field.name.count == name.utf8.count else { return false }
    var place = Int(field.name.lowerBound)
    for byte in name.utf8 {
      guard Octet.lowercased(text[place]) == Octet.lowercased(byte) else { return false }
      place += 1
    }
    return true
  }

  private func string(_ range: Range<UInt16>) -> String {
    let places = Int(range.lowerBound)..<Int(range.upperBound)
    return String(decoding: text[places], as: UTF8.self)
  }
}
