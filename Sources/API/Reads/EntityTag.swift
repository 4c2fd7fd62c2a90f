import HTTPServer
import Platform
import StrictJSON

/// Conditional requests (RFC 9110 section 13): a client that shows the tag of the answer it has is
/// told with 304 that nothing else would be answered now.
enum EntityTag {
  /// The answer to a read: 304 without a body if the client has it already.
  ///
  /// The tag is weak: it leaves out the times of evaluation, so it stays the same as long as only
  /// these have changed.
  static func response(_ value: JSONValue, to request: HTTPRequest) -> HTTPResponse {
    var response = HTTPResponse.json(value)
    let tag = tag(of: response.body)
    if isMatched(request.headers.all("If-None-Match"), tag) {
      response = HTTPResponse(status: 304)
    }
    response.headers.append((name: "ETag", value: tag))
    return response
  }

  /// - Parameter body: JSON as `JSONValue` writes it, without white space.
  static func tag(of body: [UInt8]) -> String {
    var checksum = Checksum()
    var rest = body[...]
    // A quotation mark within a text is escaped: this occurs as the name of a member alone.
    while let start = first(timeOfEvaluation, in: rest) {
      rest[..<start].withUnsafeBytes { checksum.add($0) }
      rest = rest[(start + timeOfEvaluation.count)...].drop { $0 != UInt8(ascii: ",") }
    }
    rest.withUnsafeBytes { checksum.add($0) }
    return "W/\"\(Hexadecimal.encode(withUnsafeBytes(of: checksum.value.bigEndian, Array.init)))\""
  }

  /// A member follows it in every object that has one.
  private static let timeOfEvaluation = Array(",\"as_of\":".utf8)

  private static func first(_ wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    var from = bytes.startIndex
    // A rare letter first: every member begins with a comma.
    while let found = ByteSearch.first(UInt8(ascii: "_"), in: bytes, from: from) {
      let start = found - 4
      if start >= bytes.startIndex, bytes[start...].starts(with: wanted) { return start }
      from = found + 1
    }
    return nil
  }

  /// Whether one of the tags is this one, by weak comparison (RFC 9110 section 8.8.3.2).
  private static func isMatched(_ fields: [String], _ tag: String) -> Bool {
    let opaque = tag.dropFirst(2)
    return fields.flatMap { $0.split(separator: ",") }.contains { given in
      let given = given.trimmingSpaces
      return given == "*" || given == opaque || given == tag[...]
    }
  }
}

extension Substring {
  /// Without the white space that a list of a field may have (RFC 9110 section 5.6.1).
  fileprivate var trimmingSpaces: Substring {
    var text = self
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
