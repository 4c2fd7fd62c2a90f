import StrictJSON
import Testing

/// Valid JSON (RFC 8259) is accepted, and its values are read exactly.
@Suite struct AcceptTests {
  @Test(arguments: [
    "null", "true", "false", "0", "-0", "1", "-1", "10", "1.5", "1e3", "1E+3", "1e-3", "0.1e1",
    #""""#, #""a""#, "[]", "{}", "[ ]", "{ }", "[1]", "[1,2]", "[[],{}]", #"{"a":1}"#,
    #"{"a":{"a":1}}"#, #"{"":1}"#, #"{"a":1,"A":2}"#, " \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 ] \t\r\n",
    #"{ "a" : 1 , "b" : [ ] }"#, #""\"\\\/\b\f\n\r\t""#, #""\u0041""#, #""\ud83d\ude00""#,
    #""\uFFFF""#, "\"\u{7F}\"", "\"\u{2028}\"", "9007199254740993", "1e300",
  ])
  func `accepts every valid text`(_ text: String) throws {
    #expect(throws: Never.self) { try JSONDocument(parsing: Array(text.utf8)) }
  }

  @Test(arguments: [
    (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
    (#""\u0041\u00e9\u00E9""#, "A\u{E9}\u{E9}"),
    (#""\ud83d\ude00x\uD83D\uDE00""#, "\u{1F600}x\u{1F600}"),
    (#""\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"),
    (#""\u0000""#, "\u{0}"), (#""\ufffe\uffff""#, "\u{FFFE}\u{FFFF}"),
    ("\"gr\u{FC}n \u{20AC} \u{1F600}\"", "gr\u{FC}n \u{20AC} \u{1F600}"),
  ])
  func `unescapes strings`(_ text: String, _ string: String) throws {
    let read = try #require(JSONDocument(parsing: Array(text.utf8)).root.string)
    #expect(Array(read.utf8) == Array(string.utf8))
  }

  /// Beyond 2^53 a double would not be exact.
  @Test(arguments: [
    "0", "-0", "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993",
    "9223372036854775807", "-9223372036854775808", "2000000000000001",
  ])
  func `integers are exact up to 64 bits`(_ text: String) throws {
    let root = try JSONDocument(parsing: Array(text.utf8)).root
    #expect(root.integer == Int64(text))
    #expect(root.truncatedInteger == Int64(text))
    #expect(root.number == text)
    #expect(root.value.text == text)
  }

  @Test(
    arguments: [
      ("1697679936049.7297", 1_697_679_936_049), ("-1.9", -1), ("1.0", 1), ("1e3", 1000),
      ("-62135769600000", -62_135_769_600_000), ("0.9999", 0),
    ] as [(String, Int64)])
  func `truncatedInteger truncates towards zero`(_ text: String, _ whole: Int64) throws {
    let root = try JSONDocument(parsing: Array(text.utf8)).root
    #expect(root.truncatedInteger == whole)
    #expect(root.number == text)
  }

  @Test(arguments: ["9223372036854775808", "-9223372036854775809", "1e19", "1e300", "-1e300"])
  func `a number beyond 64 bits is no integer`(_ text: String) throws {
    let root = try JSONDocument(parsing: Array(text.utf8)).root
    #expect(root.integer == nil && root.truncatedInteger == nil)
    #expect(root.number == text)
  }

  @Test func `a value is only readable as its own kind`() throws {
    let text = #"{"n":null,"t":true,"i":1,"s":"1","a":[1],"o":{"x":2}}"#
    let root = try JSONDocument(parsing: Array(text.utf8)).root
    #expect(root["n"]?.kind == .null && root["t"]?.kind == .boolean && root["i"]?.kind == .number)
    #expect(root["s"]?.kind == .string && root["a"]?.kind == .array && root["o"]?.kind == .object)
    #expect(root["t"]?.boolean == true && root["t"]?.integer == nil && root["t"]?.string == nil)
    #expect(root["i"]?.boolean == nil && root["i"]?.string == nil)
    #expect(root["s"]?.integer == nil && root["s"]?.number == nil)
    #expect(root["a"]?["x"] == nil && root["o"]?.elements.isEmpty == true)
    #expect(root["a"]?.members.isEmpty == true && root["x"] == nil && root["N"] == nil)
    #expect(root.members.map(\.name) == ["n", "t", "i", "s", "a", "o"])
    #expect(root["o"]?["x"]?.integer == 2)
  }

  /// The bytes of a nested JWS are not copied; those of a string with escapes are not its value.
  @Test func `plainBytes are nil for a string with escapes`() throws {
    let text = #"{"a":"abc","b":"a\u0062c","c":1}"#
    let root = try JSONDocument(parsing: Array(text.utf8)).root
    #expect(root["a"]?.plainBytes.map(Array.init) == Array("abc".utf8))
    #expect(root["b"]?.plainBytes == nil && root["b"]?.string == "abc")
    #expect(root["c"]?.plainBytes == nil)
  }

  /// Names are compared by their characters, escaped or not (RFC 8259 section 8.3).
  @Test func `finds a member by its unescaped name`() throws {
    let root = try JSONDocument(parsing: Array(#"{"signed\u0050ayload":1}"#.utf8)).root
    #expect(root["signedPayload"]?.integer == 1)
    #expect(root["SignedPayload"] == nil)
  }

  @Test func `names with equal characters but different bytes are different`() throws {
    // A composed and a decomposed accent: equal for Swift, different for JSON.
    let (one, other) = ("caf\u{E9}", "cafe\u{301}")
    let texts = [
      "{\"\(one)\":1,\"\(other)\":2}", "{\"caf\\u00e9\":1,\"cafe\\u0301\":2}",
      "{\"\(one)\":1,\"\(other)\":2,\((0..<40).map { "\"\($0)\":0" }.joined(separator: ","))}",
    ]
    for text in texts {
      let root = try JSONDocument(parsing: Array(text.utf8)).root
      #expect(root[one]?.integer == 1)
      #expect(root[other]?.integer == 2)
      #expect(root.value[other]?.text == "2")
    }
  }
}
