/// One value of a document, or a place where there might have been one: a look, never a copy.
public struct JSONElement: Sendable {
  public enum Kind: Sendable, Equatable { case null, boolean, number, string, array, object }

  let document: JSONDocument
  let index: Int

  private var node: Node { document.nodes[index] }

  public var kind: Kind {
    switch node.kind {
    case .null: .null
    case .yes, .no: .boolean
    case .number: .number
    case .string, .escapedString: .string
    case .array: .array
    case .object: .object
    }
  }

  /// The string, unescaped; nil for any other kind.
  public var string: String? {
    guard node.kind == .string || node.kind == .escapedString else { return nil }
    return document.bytes.withUnsafeBufferPointer { JSONText.string(node, in: $0) }
  }

  public var boolean: Bool? {
    switch node.kind {
    case .yes: true
    case .no: false
    default: nil
    }
  }

  /// A number written without fraction or exponent that fits 64 bits; nil for all others.
  public var integer: Int64? {
    guard node.kind == .number else { return nil }
    return Int64(numberText)
  }

  /// A number with its fraction cut off towards zero, as Apple's Xcode-signed dates need.
  public var truncatedInteger: Int64? {
    guard node.kind == .number else { return nil }
    let text = numberText
    if let exact = Int64(text) { return exact }
    guard let value = Double(text), value.magnitude < 9e15 else { return nil }
    return Int64(value)
  }

  /// A number exactly as it was written; nil for any other kind.
  public var number: String? { node.kind == .number ? numberText : nil }

  private var numberText: String {
    String(decoding: document.bytes[Int(node.start)..<Int(node.end)], as: UTF8.self)
  }

  /// The bytes of a string that has no escapes, without its quotes: a nested JWS, say, not copied.
  public var plainBytes: ArraySlice<UInt8>? {
    node.kind == .string ? document.bytes[Int(node.start)..<Int(node.end)] : nil
  }

  /// Where `plainBytes` or the value's text lies in the document.
  public var byteRange: Range<Int> { Int(node.start)..<Int(node.end) }

  /// The value's text as it was written; a string's without its quotes.
  public var text: [UInt8] { Array(document.bytes[byteRange]) }

  /// The member of that name of an object; nil where there is none, or no object.
  public subscript(_ name: String) -> JSONElement? {
    guard node.kind == .object else { return nil }
    let end = Int(node.next)
    var at = index + 1
    var name = name
    return name.withUTF8 { wanted in
      while at < end {
        if named(wanted, at) { return JSONElement(document: document, index: at + 1) }
        at = Int(document.nodes[at + 1].next)
      }
      return nil
    }
  }

  private func named(_ wanted: UnsafeBufferPointer<UInt8>, _ at: Int) -> Bool {
    let name = document.nodes[at]
    return document.bytes.withUnsafeBufferPointer { bytes in
      if name.kind == .escapedString {
        return JSONText.string(name, in: bytes).utf8.elementsEqual(wanted)
      }
      guard wanted.count == Int(name.end - name.start) else { return false }
      let start = Int(name.start)
      for offset in 0..<wanted.count where bytes[start + offset] != wanted[offset] {
        return false
      }
      return true
    }
  }

  /// The members of an object in the order they were written; none of any other kind.
  public var members: [(name: String, value: JSONElement)] {
    guard node.kind == .object else { return [] }
    var found: [(name: String, value: JSONElement)] = []
    var at = index + 1
    while at < Int(node.next) {
      let name = JSONElement(document: document, index: at).string ?? ""
      found.append((name, JSONElement(document: document, index: at + 1)))
      at = Int(document.nodes[at + 1].next)
    }
    return found
  }

  /// The elements of an array; none of any other kind.
  public var elements: [JSONElement] {
    guard node.kind == .array else { return [] }
    var found: [JSONElement] = []
    var at = index + 1
    while at < Int(node.next) {
      found.append(JSONElement(document: document, index: at))
      at = Int(document.nodes[at].next)
    }
    return found
  }

  /// The same value as a tree that can be changed and written.
  public var value: JSONValue {
    switch node.kind {
    case .null: .null
    case .yes: .boolean(true)
    case .no: .boolean(false)
    case .number: .number(numberText)
    case .string, .escapedString: .string(string ?? "")
    case .array: .array(elements.map(\.value))
    case .object: .object(members.map { ($0.name, $0.value.value) })
    }
  }
}
