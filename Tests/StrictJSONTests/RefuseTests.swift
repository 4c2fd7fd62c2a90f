import StrictJSON
import Testing

/// Text that two parsers could read in different ways is refused.
@Suite struct RefuseTests {
  private func reason(_ bytes: [UInt8]) -> JSONError.Reason? {
    do {
      _ = try JSONDocument(parsing: bytes)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test(arguments: [
    "", " ", "\n", "tru", "True", "TRUE", "nul", "nullx", "[", "]", "{", "}", "[1", "[1,", "[1,]",
    "[,1]", "[1 2]", "[1,,2]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1"#, #"{"a":1]"#,
    #"[1}"#, #"{"a" 1}"#, #"{"a":1 "b":2}"#, "{a:1}", "{'a':1}", "'a'", "{1:2}", "{null:1}",
    "// x\n1", "/* x */1", "1 // x", "[1]/**/", "# 1", #""a"#, #"""#, "\"a\nb\"", "\"a\tb\"",
    "\"\u{0}\"", "\"\u{1F}\"", "+1", ".5", "1.", "1.e1", "01", "-01", "00", "-", "--1", "1e", "1e+",
    "1e1.5", "0x10", "1_000", "NaN", "Infinity", "-Infinity", "undefined", "\u{A0}1", "1\u{A0}",
    "\u{B}1", "\u{C}1", "\u{2028}1", "1 2", "{}{}", "{}\n{}", "[]x", "nullnull", "1,2", "\u{0}",
    "1\u{0}", #""\x41""#, #""\a""#, #""\'""#, #""\u""#, #""\u12""#, #""\u123g""#, #""\U0041""#,
    #""\u{41}""#, #""\"#, #""\u004"#, #""\ud800""#, #""\udc00""#, #""\ud800x""#, #""\ud800\n""#,
    #""\ud800\u0041""#, #""\ud800\ud800""#, #""\udc00\ud800""#, #""\ud800\u""#, #"{"\ud800":1}"#,
  ])
  func `refuses every invalid text`(_ text: String) {
    #expect(reason(Array(text.utf8)) != nil)
  }

  @Test(
    arguments: [
      ([0xC0, 0x80], "NUL in two bytes"), ([0xC1, 0xBF], "overlong"), ([0xC2], "cut"),
      ([0xC2, 0x41], "no continuation"), ([0xE0, 0x80, 0x80], "overlong"),
      ([0xE0, 0x9F, 0xBF], "overlong"), ([0xED, 0xA0, 0x80], "surrogate"),
      ([0xED, 0xBF, 0xBF], "surrogate"), ([0xE2, 0x82], "cut"), ([0xE2, 0x82, 0x41], "cut"),
      ([0xF0, 0x80, 0x80, 0x80], "overlong"), ([0xF0, 0x8F, 0xBF, 0xBF], "overlong"),
      ([0xF4, 0x90, 0x80, 0x80], "past U+10FFFF"), ([0xF5, 0x80, 0x80, 0x80], "past U+10FFFF"),
      ([0xFF], "never"), ([0xFE], "never"), ([0x80], "alone"), ([0xBF, 0xBF], "alone"),
      ([0xF0, 0x9F, 0x98], "cut"), ([0xF8, 0x88, 0x80, 0x80, 0x80], "five bytes"),
    ] as [([UInt8], String)])
  func `refuses invalid UTF-8`(_ bytes: [UInt8], _ what: String) {
    #expect(reason([0x22] + bytes + [0x22]) == .encoding, "\(what)")
    #expect(reason(Array("{\"".utf8) + bytes + Array("\":1}".utf8)) == .encoding, "\(what)")
    #expect(reason([0x22] + bytes) != nil, "\(what)")
  }

  /// Every lead byte, followed by up to three bytes at the edges of the valid ranges.
  @Test func `agrees with Swift's UTF-8 validation`() {
    let edges: [UInt8] = [0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0]
    for lead in UInt8(0x80)...0xFF {
      var sequences: [[UInt8]] = [[lead]]
      for second in edges {
        sequences.append([lead, second])
        for third in edges {
          sequences.append([lead, second, third])
          for fourth in edges { sequences.append([lead, second, third, fourth]) }
        }
      }
      for sequence in sequences {
        let isValid = String(validating: sequence, as: UTF8.self) != nil
        #expect((reason([0x22] + sequence + [0x22]) == nil) == isValid, "\(sequence)")
      }
    }
  }

  @Test func `refuses byte order marks and UTF-16`() {
    #expect(reason([0xEF, 0xBB, 0xBF] + Array("{}".utf8)) != nil)
    #expect(reason([0xFF, 0xFE, 0x7B, 0, 0x7D, 0]) != nil)
    #expect(reason([0, 0x7B, 0, 0x7D]) != nil)
    #expect(reason([0x7B, 0, 0x7D, 0]) != nil)
  }

  @Test(arguments: [
    #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"\u0061":2}"#, #"{"\u0061":1,"a":2}"#,
    #"{"signedPayload":"x","signed\u0050ayload":"y"}"#, #"{"":1,"":2}"#, #"{"x":{"a":1,"a":2}}"#,
    #"[{"a":1,"a":2}]"#, #"{"/":1,"\/":2}"#, #"{"\ud83d\ude00":1,"😀":2}"#,
  ])
  func `refuses duplicate members`(_ text: String) {
    #expect(reason(Array(text.utf8)) == .duplicate)
  }

  @Test(arguments: [2, 31, 32, 33, 34, 500])
  func `refuses a duplicate among any number of members`(_ count: Int) {
    let names = (0..<count - 1).map { "\"name\($0)\":{\"name\($0)\":1}" }
    #expect(reason(Array("{\(names.joined(separator: ","))}".utf8)) == nil)
    for double in Set([0, (count - 1) / 2, count - 2]) {
      let text = "{\(names.joined(separator: ",")),\"name\(double)\":0}"
      #expect(reason(Array(text.utf8)) == .duplicate)
    }
  }

  @Test func `refuses more than 32 levels`() {
    func nested(_ open: String, _ inner: String, _ close: String, _ depth: Int) -> [UInt8] {
      Array(
        (String(repeating: open, count: depth) + inner
          + String(repeating: close, count: depth)).utf8)
    }
    #expect(JSONDocument.maximumDepth == 32)
    #expect(reason(nested("[", "", "]", 32)) == nil)
    #expect(reason(nested("[", "", "]", 33)) == .depth)
    #expect(reason(nested("{\"a\":", "1", "}", 32)) == nil)
    #expect(reason(nested("{\"a\":", "1", "}", 33)) == .depth)
    #expect(reason(nested("[{\"a\":", "1", "}]", 16)) == nil)
    #expect(reason(nested("[{\"a\":", "1", "}]", 17)) == .depth)
    // Side by side is not deeper.
    #expect(reason(Array("[\(String(repeating: "[],", count: 99))[]]".utf8)) == nil)
    for open in ["[", "{\"a\":", "[{\"a\":"] {
      #expect(reason(Array(String(repeating: open, count: 100_000).utf8)) == .depth)
    }
  }

  @Test(arguments: [
    "1e301", "1e999999", "-1e999999", "1e-301", "1e00000000301", "1e18446744073709551617",
    String(repeating: "9", count: 65), String(repeating: "9", count: 1_000_000),
    "0." + String(repeating: "1", count: 63),
  ])
  func `refuses numbers out of bounds`(_ text: String) {
    #expect(reason(Array(text.utf8)) == .number)
  }

  @Test func `accepts the longest number and the greatest exponent`() {
    #expect(reason(Array(String(repeating: "9", count: 64).utf8)) == nil)
    #expect(reason(Array("1e300".utf8)) == nil)
    #expect(reason(Array("1e-300".utf8)) == nil)
  }

  @Test func `an error has the offset of the first wrong byte`() {
    for (text, offset) in [("[1,x]", 3), ("{} {}", 3), ("[1", 2), ("", 0), ("\"\\q\"", 2)] {
      #expect(throws: JSONError.self) { try JSONDocument(parsing: Array(text.utf8)) }
      do { _ = try JSONDocument(parsing: Array(text.utf8)) } catch {
        #expect(error.offset == offset, "\(text)")
      }
    }
  }

  /// Every prefix of a valid text is refused; every text with one byte changed is refused, or
  /// written and parsed again without a difference.
  @Test func `a damaged text is refused or read without a crash`() {
    let text = Array(#"{"a":[1,-2.5e3,true,null],"b":"x\n\ud83d\ude00é","c":{"d":{}}}"#.utf8)
    #expect(reason(text) == nil)
    for count in 0..<text.count { #expect(reason(Array(text[..<count])) != nil) }
    for index in text.indices {
      for byte in UInt8.min...UInt8.max {
        var damaged = text
        damaged[index] = byte
        guard let document = try? JSONDocument(parsing: damaged) else { continue }
        let again = try? JSONDocument(parsing: document.root.value.bytes)
        #expect(again?.root.value.bytes == document.root.value.bytes)
      }
    }
  }
}
