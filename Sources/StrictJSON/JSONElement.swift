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

  /// Whether a string was written with escapes: no other can hold a control character.
  public var hasEscapes: Bool { node.kind == .escapedString }

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
    return document.bytes.withUnsafeBufferPointer { JSONText.integer(node, in: $0) }
  }

  /// A number with its fraction cut off towards zero, as Apple's Xcode-signed dates need.
  public var truncatedInteger: Int64? {
    guard node.kind == .number else { return nil }
    if let integer { return integer }
    guard let value = Double(numberText), value.magnitude < 9e15 else { return nil }
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

  /// Whether this is a string of these very bytes: to `String` two spellings of one accent are
  /// equal.
  public func isString(_ text: String) -> Bool {
    guard node.kind == .string else { return string?.utf8.elementsEqual(text.utf8) ?? false }
    var text = text
    return text.withUTF8 { wanted in
      document.bytes.withUnsafeBufferPointer { JSONText.isText(node, wanted, in: $0) }
    }
  }

  /// The member of that name of an object; nil where there is none, or no object.
  public subscript(_ name: String) -> JSONElement? {
    var name = name
    let found = name.withUTF8 { wanted in
      place { node, bytes in
        guard node.kind == .escapedString else { return JSONText.isText(node, wanted, in: bytes) }
        return JSONText.string(node, in: bytes).utf8.elementsEqual(wanted)
      }
    }
    return found.map { JSONElement(document: document, index: $0) }
  }

  /// The index of the value of the first member whose name is wanted.
  private func place(
    where isWanted: (Node, UnsafeBufferPointer<UInt8>) -> Bool
  ) -> Int? {
    document.nodes.withUnsafeBufferPointer { nodes in
      guard nodes[index].kind == .object else { return nil }
      let end = Int(nodes[index].next)
      return document.bytes.withUnsafeBufferPointer { bytes in
        var at = index + 1
        while at < end {
          if isWanted(nodes[at], bytes) { return at + 1 }
          at = Int(nodes[at + 1].next)
        }
        return nil
      }
    }
  }

  /// The members of an object whose names are among `names`, in the order they were written, each
  /// with its name's place there; none of any other kind.
  public func forEachMember(in names: JSONNames, _ body: (Int, JSONElement) -> Void) {
    guard node.kind == .object else { return }
    let end = Int(node.next)
    var at = index + 1
    while at < end {
      if let place = place(ofName: at, in: names) {
        body(place, JSONElement(document: document, index: at + 1))
      }
      at = Int(document.nodes[at + 1].next)
    }
  }

  private func place(ofName at: Int, in names: JSONNames) -> Int? {
    let name = document.nodes[at]
    return document.bytes.withUnsafeBufferPointer { bytes in
      guard name.kind == .escapedString else {
        return names.place(bytes, from: Int(name.start), to: Int(name.end))
      }
      return Array(JSONText.string(name, in: bytes).utf8).withUnsafeBufferPointer {
        names.place($0, from: 0, to: $0.count)
      }
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
