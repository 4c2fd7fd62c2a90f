/// The header fields of one request, in order, as received; names are matched without case.
///
/// The bytes of the head are stored as received and fields are ranges in them: a head needs two
/// allocations for any number of fields, and a value becomes a `String` only when it is requested.
/// All bytes are visible ASCII, space or tab; the parser refuses others.
public struct HTTPHeaders: Sendable {
  struct Field: Sendable {
    let name: Range<UInt16>
    let value: Range<UInt16>
  }

  private let text: [UInt8]
  private let fields: [Field]

  /// Stores a head and the ranges of its fields; a head is far shorter than 64 KiB.
  init(text: [UInt8], fields: [Field]) {
    self.text = text
    self.fields = fields
  }

  /// Makes fields from pairs, for requests that were not received from the network.
  public init(_ pairs: [(name: String, value: String)] = []) {
    var text: [UInt8] = []
    var fields: [Field] = []
    // Clamped, although the parser never comes so far: past 64 KiB fields are truncated.
    func append(_ part: String) -> Range<UInt16> {
      let start = UInt16(clamping: text.count)
      text.append(contentsOf: part.utf8)
      return start..<UInt16(clamping: text.count)
    }
    for pair in pairs {
      fields.append(Field(name: append(pair.name), value: append(pair.value)))
    }
    self.init(text: text, fields: fields)
  }

  /// The number of fields.
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

  /// Compares bytes without case, and makes no string of a field that does not match.
  private func matches(_ field: Field, _ name: String) -> Bool {
    guard field.name.count == name.utf8.count else { return false }
    var index = Int(field.name.lowerBound)
    for byte in name.utf8 {
      guard Octet.lowercased(text[index]) == Octet.lowercased(byte) else { return false }
      index += 1
    }
    return true
  }

  private func string(_ range: Range<UInt16>) -> String {
    let indices = Int(range.lowerBound)..<Int(range.upperBound)
    return String(decoding: text[indices], as: UTF8.self)
  }
}
