import Encoding

/// An attribute of a receipt or of an in-app record.
public struct ReceiptAttribute: Sendable, Equatable {
  public let type: Int64
  public let version: Int64
  /// The content of the OCTET STRING; mostly DER.
  public let value: ArraySlice<UInt8>
}

/// The attributes of one SET, in strict DER except for the order of the set, which Apple does not
/// sort. Values are read when they are asked for: who asks says which kind it must be.
struct ReceiptAttributes {
  /// The values of the type that may occur more than once, in order.
  private(set) var repeated: [ArraySlice<UInt8>] = []
  private var single: [Int64: ReceiptAttribute] = [:]
  /// In the order of the set.
  private var order: [Int64] = []

  /// How many attributes there are besides the repeated ones.
  var count: Int { order.count }

  /// - Parameter repeating: the type that may occur more than once.
  /// - Throws: `PayloadFault("receipt_attributes")` for another structure, or another attribute
  ///   that occurs twice.
  init(_ bytes: ArraySlice<UInt8>, repeating: Int64? = nil) throws(PayloadFault) {
    guard let set = DERReader.only(DERReader.Tag.set, in: bytes) else { throw Self.fault }
    var reader = DERReader(set)
    while !reader.isAtEnd {
      guard let attribute = reader.content(DERReader.Tag.sequence).flatMap(Self.attribute) else {
        throw Self.fault
      }
      if attribute.type == repeating {
        repeated.append(attribute.value)
      } else {
        guard single.updateValue(attribute, forKey: attribute.type) == nil else {
          throw Self.fault
        }
        order.append(attribute.type)
      }
    }
  }

  private static let fault = PayloadFault("receipt_attributes")

  private static func attribute(_ content: ArraySlice<UInt8>) -> ReceiptAttribute? {
    var fields = DERReader(content)
    guard let type = fields.content(DERReader.Tag.integer).flatMap(DERReader.integer),
      let version = fields.content(DERReader.Tag.integer).flatMap(DERReader.integer),
      let value = fields.content(DERReader.Tag.octets), fields.isAtEnd
    else { return nil }
    return ReceiptAttribute(type: type, version: version, value: value)
  }

  /// The attributes of other types than these, in the order of the set.
  func all(except types: Set<Int64>) -> [ReceiptAttribute] {
    order.compactMap { types.contains($0) ? nil : single[$0] }
  }

  /// A UTF8String; nil if it is absent or empty.
  ///
  /// - Throws: `PayloadFault` for a value of another kind, and for NUL.
  func text(_ type: Int64) throws(PayloadFault) -> String? {
    guard let content = try content(type, DERReader.Tag.utf8Text) else { return nil }
    guard let text = String(validating: content, as: UTF8.self) else { throw Self.fault }
    guard !content.contains(0) else { throw .nul }
    return text.isEmpty ? nil : text
  }

  /// An INTEGER; nil if it is absent.
  ///
  /// - Throws: `PayloadFault` for a value of another kind.
  func number(_ type: Int64) throws(PayloadFault) -> Int64? {
    guard let content = try content(type, DERReader.Tag.integer) else { return nil }
    guard let number = DERReader.integer(content) else { throw Self.fault }
    return number
  }

  /// An IA5String with a date of RFC 3339, in milliseconds since 1970; nil if it is absent or
  /// empty.
  ///
  /// - Throws: `PayloadFault` for a value of another kind; `PayloadFault("date")` for a text that
  ///   is no date: an end that was ignored would give access for ever (promise 8).
  func date(_ type: Int64) throws(PayloadFault) -> Int64? {
    guard let content = try content(type, DERReader.Tag.ia5Text) else { return nil }
    if content.isEmpty { return nil }
    guard content.count >= 20, content[content.startIndex + 10] == UInt8(ascii: "T"),
      let text = String(validating: content, as: UTF8.self), let date = Timestamp.parse(text)
    else { throw PayloadFault("date") }
    return date
  }

  private func content(_ type: Int64, _ tag: UInt8) throws(PayloadFault) -> ArraySlice<UInt8>? {
    guard let attribute = single[type] else { return nil }
    guard let content = DERReader.only(tag, in: attribute.value) else { throw Self.fault }
    return content
  }
}
