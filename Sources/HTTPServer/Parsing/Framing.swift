/// The fields of a head that decide where its body ends and whether the connection goes on.
///
/// Every rule is the strictest reading: two ways to frame one request are how requests are smuggled
/// past a proxy (RFC 9112 section 11.2).
enum Framing {
  /// Exactly one Host, of the characters a name, an address and a port have (RFC 9112 section 3.2).
  static func checkHost(_ headers: HTTPHeaders) throws(HTTPParseError) {
    let hosts = headers.all("host")
    guard hosts.count == 1, let host = hosts.first, !host.isEmpty,
      host.utf8.allSatisfy(Octet.host.contains)
    else { throw .malformed }
  }

  /// RFC 9112 section 6: one Content-Length, or one Transfer-Encoding that says `chunked` and
  /// nothing else, or neither.
  static func framing(
    _ headers: HTTPHeaders, isVersion10: Bool
  ) throws(HTTPParseError) -> RequestHead.Framing {
    // Equal twins are refused like different ones: RFC 9110 section 8.6 allows repairing them, and
    // a proxy that joins what we would count shows two readings.
    let lengths = headers.all("content-length")
    let codings = headers.all("transfer-encoding")
    switch (lengths.count, codings.count) {
    case (0, 0): return .none
    case (1, 0): return .length(try length(lengths[0]))
    case (0, 1):
      // RFC 9112 section 6.1: HTTP/1.0 knows no Transfer-Encoding; its framing is faulty.
      // ASCII case folding: Unicode's would equate the Kelvin sign with k, and a proxy does not.
      let coding = codings[0].utf8.map(Octet.lowercased)
      guard !isVersion10, coding.elementsEqual("chunked".utf8) else { throw .malformed }
      return .chunked
    default: throw .malformed
    }
  }

  /// 1 to 18 digits and nothing else, so that no number overflows.
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
    // The one expectation that HTTP defines; matched without case (RFC 9110 section 10.1.1).
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
