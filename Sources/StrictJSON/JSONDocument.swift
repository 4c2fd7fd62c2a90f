/// A JSON text (RFC 8259), parsed strictly and stored unchanged.
///
/// The parser makes one flat list of nodes that point into the bytes; strings and numbers become
/// Swift values only when they are read. So a payload of which ten members are read costs ten
/// strings, numbers beyond 2^53 stay exact, and unknown members are preserved byte for byte.
///
/// Refused, because two parsers could read them in different ways: duplicate members (section 4),
/// invalid UTF-8 and byte order marks (section 8.1), lone surrogates (8.2), text after the value,
/// more than `maximumDepth` levels, and numbers over 64 bytes or with an exponent beyond ±300.
public final class JSONDocument: Sendable {
  /// The most levels of arrays and objects; Apple's payloads have at most five.
  public static let maximumDepth = 32

  let bytes: [UInt8]
  let nodes: [Node]

  /// Parses a whole text.
  ///
  /// - Throws: `JSONError` with the byte offset of the first error, or of what exceeds `limits`.
  public init(parsing bytes: [UInt8], within limits: JSONLimits = .none) throws(JSONError) {
    self.bytes = bytes
    let outcome = bytes.withUnsafeBufferPointer { buffer -> Result<[Node], JSONError> in
      var parser = JSONParser(bytes: buffer, limits)
      do throws(JSONError) {
        return .success(try parser.document())
      } catch {
        return .failure(error)
      }
    }
    nodes = try outcome.get()
  }

  /// The outermost value.
  public var root: JSONElement { JSONElement(document: self, index: 0) }
}

/// How much a text may hold. Parsing takes time for each member and each value, many times as long
/// as for each byte of a string.
public struct JSONLimits: Sendable {
  /// Members of one object at most.
  public let members: Int
  /// Values and member names of the document at most.
  public let values: Int
  /// Whether no member may occur twice.
  let refusesDuplicates: Bool

  public init(members: Int, values: Int) {
    self.init(members: members, values: values, refusesDuplicates: true)
  }

  private init(members: Int, values: Int, refusesDuplicates: Bool) {
    self.members = members
    self.values = values
    self.refusesDuplicates = refusesDuplicates
  }

  public static let none = JSONLimits(members: .max, values: .max)
  /// For a text that was parsed strictly when it was stored: its names are not compared again.
  public static let stored = JSONLimits(members: .max, values: .max, refusesDuplicates: false)
  /// For a text that anyone may have written. Apple's have at most 40 members in an object, and 100
  /// values.
  public static let unproven = JSONLimits(members: 128, values: 2048)
}

/// One value, or one member name, of a document.
struct Node {
  enum Kind: UInt8 { case null, yes, no, number, string, escapedString, array, object }

  var kind: Kind
  /// The byte range of the text: of a string without its quotes, of an array or object with its
  /// brackets.
  var start: UInt32
  var end: UInt32
  /// The index of the next node that is not inside this one.
  var next: UInt32
}

/// Why a text was refused, and where. Holds no part of the text.
public struct JSONError: Error, Sendable, Equatable {
  /// What is wrong; the raw value is for people.
  public enum Reason: String, Sendable {
    case syntax = "not JSON"
    case trailing = "text after the value"
    case encoding = "invalid UTF-8"
    case escape = "invalid escape"
    case duplicate = "a member occurs twice"
    case depth = "nested too deeply"
    case number = "a number out of bounds"
    case size = "too large"
    case members = "too many members or values"
  }

  public let reason: Reason
  /// The offset in bytes at which the parser stopped.
  public let offset: Int
}
