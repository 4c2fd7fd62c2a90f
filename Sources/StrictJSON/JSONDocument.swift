/// A JSON text (RFC 8259), read strictly and kept as it came.
///
/// The reader makes one flat list of nodes that point into the bytes; strings and numbers are only
/// made into Swift values when asked for. So a payload of which ten members matter costs ten
/// strings, numbers beyond 2^53 stay exact, and what nobody understands is still there verbatim.
///
/// Refused, because two readers could disagree about it: duplicate members (section 4), invalid
/// UTF-8 and byte order marks (section 8.1), lone surrogates (8.2), anything after the value, more
/// than `maximumDepth` levels, numbers over 64 bytes or beyond the range of a double.
public final class JSONDocument: Sendable {
  /// Levels of arrays and objects that are read; Apple's payloads have at most five.
  public static let maximumDepth = 32

  let bytes: [UInt8]
  let nodes: [Node]

  /// Reads a whole text.
  ///
  /// - Throws: `JSONError` with the byte offset of the first thing that is wrong.
  public init(parsing bytes: [UInt8]) throws(JSONError) {
    self.bytes = bytes
    let outcome = bytes.withUnsafeBufferPointer { buffer -> Result<[Node], JSONError> in
      var parser = JSONParser(bytes: buffer)
      do throws(JSONError) {
        return .success(try parser.document())
      } catch {
        return .failure(error)
      }
    }
    nodes = try outcome.get()
  }

  /// The value of the whole text.
  public var root: JSONElement { JSONElement(document: self, index: 0) }
}

/// One value, or one member name, of a document: where its text is, and where the next one begins.
struct Node {
  enum Kind: UInt8 { case null, yes, no, number, string, escapedString, array, object }

  var kind: Kind
  /// The text: without quotes for strings, with brackets for arrays and objects.
  var start: UInt32
  var end: UInt32
  /// Index of the node after this one and everything inside it.
  var next: UInt32
}

/// Why a text is not JSON, and the byte at which that shows. Carries nothing of the text.
public struct JSONError: Error, Sendable, Equatable {
  public enum Reason: String, Sendable {
    case syntax = "not JSON"
    case trailing = "text after the value"
    case encoding = "invalid UTF-8"
    case escape = "invalid escape"
    case duplicate = "a member occurs twice"
    case depth = "nested too deeply"
    case number = "a number out of bounds"
    case size = "too large"
  }

  public let reason: Reason
  public let offset: Int
}
