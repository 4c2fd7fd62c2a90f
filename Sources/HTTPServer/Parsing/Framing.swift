/// The fields of a head that decide where its body ends and whether the connection stays open.
///
/// Every rule is read strictly, because requests are smuggled past a proxy by framing that proxy
/// and server read differently (RFC 9112 section 11.2).
enum Framing {
  /// Requires exactly one Host, made of characters of a name, an address or a port (RFC 9112
  /// section 3.2).
  ///
  /// - Throws: `HTTPParseError.malformed` otherwise.
  static func checkHost(_ headers: HTTPHeaders) throws(HTTPParseError) {
    let hosts = headers.all("host")
    guard hosts.count == 1, let host = hosts.first, !host.isEmpty,
      host.utf8.allSatisfy(Octet.host.contains)
    else { throw .malformed }
  }

  /// Reads the framing of the body (RFC 9112 section 6): one Content-Length, or one
  /// Transfer-Encoding that is exactly `chunked`, or neither.
  ///
  /// - Throws: `HTTPParseError.malformed` for anything else.
  static func framing(
    _ headers: HTTPHeaders, isVersion10: Bool
  ) throws(HTTPParseError) -> RequestHead.Framing {
    // Two equal lengths are refused like two different ones. RFC 9110 section 8.6 allows merging
    // them, but a proxy might not merge them, and then there are two readings.
    let lengths = headers.all("content-length")
    let codings = headers.all("transfer-encoding")
    switch (lengths.count, codings.count) {
    case (0, 0): return .none
    case (1, 0): return .length(try length(lengths[0]))
    case (0, 1):
      // RFC 9112 section 6.1: HTTP/1.0 has no Transfer-Encoding; its framing is faulty.
      // ASCII case folding: Unicode's would equate the Kelvin sign with k, and a proxy does not.
      let coding = codings[0].utf8.map(Octet.lowercased)
      guard !isVersion10, coding.elementsEqual("chunked".utf8) else { throw .malformed }
      return .chunked
    default: throw .malformed
    }
  }

  /// Accepts 1 to 18 digits and nothing else, so that no number overflows.
  private static func length(_ text: String) throws(HTTPParseError) -> Int {
    guard (1...18).contains(text.utf8.count) else { throw .malformed }
    var length = 0
    for byte in text.utf8 {
      guard byte >= 0x30 && byte <= 0x39 else { throw .malformed }
      length = length * 10 + Int(byte - 0x30)
    }
    return length
  }

  static func expectation(_ headers: HTTPHeaders) -> RequestHead.Expectation {
    let expectations = headers.all("expect")
    if expectations.isEmpty { return .none }
    // The only expectation that HTTP defines, compared without case (RFC 9110 section 10.1.1).
    return expectations.count == 1 && expectations[0].lowercased() == "100-continue"
      ? .continuing : .unknown
  }

  /// Whether one of the connection options is `close` (RFC 9112 section 9.6).
  static func wantsClose(_ headers: HTTPHeaders) -> Bool {
    headers.all("connection").contains { value in
      value.lowercased().split(separator: ",").contains { option in
        option.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" } == "close"
      }
    }
  }
}
