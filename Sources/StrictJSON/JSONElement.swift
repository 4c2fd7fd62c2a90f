/// One value of a document: a reference into it, not a copy.
public struct JSONElement: Sendable {
  /// The kind of a value.
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

  /// Whether a string was written with escapes. Only such a string can hold a control character.
  public var hasEscapes: Bool { node.kind == .escapedString }

  /// The value of a boolean; nil for any other kind.
  public var boolean: Bool? {
    switch node.kind {
    case .yes: true
    case .no: false
    default: nil
    }
  }

  /// The value of a number without fraction or exponent that fits in 64 bits; nil for any other.
  public var integer: Int64? {
    guard node.kind == .number else { return nil }
    return document.bytes.withUnsafeBufferPointer { JSONText.integer(node, in: $0) }
  }

  /// A number truncated towards zero: Xcode signs dates with fractions. Nil for any other kind and
  /// beyond ±9e15, where a double is no longer exact.
  public var truncatedInteger: Int64? {
    guard node.kind == .number else { return nil }
    if let integer { return integer }
    guard let value = Double(numberText), value.magnitude < 9e15 else { return nil }
    return Int64(value)
  }

  /// The text of a number, exactly as it was written; nil for any other kind.
  public var number: String? { node.kind == .number ? numberText : nil }

  private var numberText: String {
    String(decoding: document.bytes[Int(node.start)..<Int(node.end)], as: UTF8.self)
  }

  /// The bytes of a string without its quotes, not copied; nil if it has escapes, and for any other
  /// kind.
  public var plainBytes: ArraySlice<UInt8>? {
    node.kind == .string ? document.bytes[Int(node.start)..<Int(node.end)] : nil
  }

  /// The byte range of the value's text in the document; of a string without its quotes.
  var byteRange: Range<Int> { Int(node.start)..<Int(node.end) }

  /// The line of the document on which the value begins, from 1.
  public var line: Int { document.bytes[..<byteRange.lowerBound].count(where: { $0 == 0x0A }) + 1 }

  /// The value's text as it was written; of a string without its quotes.
  public var text: [UInt8] { Array(document.bytes[byteRange]) }

  /// Whether this is a string with the same UTF-8 as `text`. `==` of `String` also calls texts
  /// equal that spell an accent in different ways.
  public func isString(_ text: String) -> Bool {
    guard node.kind == .string else { return string?.utf8.elementsEqual(text.utf8) ?? false }
    var text = text
    return text.withUTF8 { wanted in
      document.bytes.withUnsafeBufferPointer { JSONText.isText(node, wanted, in: $0) }
    }
  }

  /// The member of an object with that name; nil if there is none, and for any other kind.
  public subscript(_ name: String) -> JSONElement? {
    var name = name
    let found = name.withUTF8 { wanted in
      valueIndex { node, bytes in
        guard node.kind == .escapedString else { return JSONText.isText(node, wanted, in: bytes) }
        return JSONText.string(node, in: bytes).utf8.elementsEqual(wanted)
      }
    }
    return found.map { JSONElement(document: document, index: $0) }
  }

  /// The node index of the value of the first member whose name satisfies `isWanted`.
  private func valueIndex(
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

  /// Calls `body` for each member of an object whose name is in `names`, in the order of the text,
  /// with the index of the name in `names` and the value. Does nothing for any other kind.
  public func forEachMember(in names: JSONNames, _ body: (Int, JSONElement) -> Void) {
    document.nodes.withUnsafeBufferPointer { nodes in
      guard nodes[index].kind == .object else { return }
      let end = Int(nodes[index].next)
      document.bytes.withUnsafeBufferPointer { bytes in
        var at = index + 1
        while at < end {
          if let name = Self.index(of: nodes[at], in: names, bytes) {
            body(name, JSONElement(document: document, index: at + 1))
          }
          at = Int(nodes[at + 1].next)
        }
      }
    }
  }

  private static func index(
    of name: Node, in names: JSONNames, _ bytes: UnsafeBufferPointer<UInt8>
  ) -> Int? {
    guard name.kind == .escapedString else {
      return names.index(bytes, from: Int(name.start), to: Int(name.end))
    }
    return Array(JSONText.string(name, in: bytes).utf8).withUnsafeBufferPointer {
      names.index($0, from: 0, to: $0.count)
    }
  }

  /// The members of an object in the order of the text; empty for any other kind.
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

  /// The elements of an array; empty for any other kind.
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

  /// The same value as a tree, which can be changed and written.
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
