import Glibc
import StrictJSON
import Testing

/// A written value is parsed as the same value, and always has the same bytes.
@Suite struct WriteTests {
  @Test(arguments: [
    ("a\"b\\c/d", #""a\"b\\c/d""#), ("\u{8}\u{C}\n\r\t", #""\b\f\n\r\t""#),
    ("\u{0}\u{1}\u{B}\u{1F}", #""\u0000\u0001\u000b\u001f""#),
    ("\u{7F}\u{2028}é😀", "\"\u{7F}\u{2028}é😀\""),
    ("", #""""#),
  ])
  func `escapes only quotes, backslashes and control characters`(_ string: String, _ text: String) {
    #expect(JSONValue.string(string).text == text)
    #expect(JSONValue.object([(string, .null)]).text == "{\(text):null}")
  }

  @Test func `parsing a written string gives the same characters`() throws {
    var string = ""
    for value in UInt32(0)...0x10FFFF where value < 0x3000 || value % 97 == 0 {
      if let scalar = Unicode.Scalar(value) { string.unicodeScalars.append(scalar) }
    }
    let read = try JSONDocument(parsing: JSONValue.string(string).bytes).root.string
    #expect(read.map { Array($0.utf8) } == Array(string.utf8))
  }

  @Test func `writes every kind of value`() {
    let value = JSONValue.object([
      ("z", .integer(.min)), ("a", .array([.null, .boolean(true), .boolean(false)])),
      ("n", .number("1.50")), ("o", .object([])), ("e", .array([])),
      ("s", .optional("x")), ("none", .optional(nil as String?)),
    ])
    let text =
      #"{"z":-9223372036854775808,"a":[null,true,false],"n":1.50,"o":{},"e":[],"s":"x","none":null}"#
    #expect(value.text == text)
    #expect(value["n"]?.text == "1.50" && value["missing"] == nil)
  }

  @Test func `pretty text parses to the same value`() throws {
    let value = JSONValue.object([("a", .array([.integer(1), .object([])])), ("b", .string("x"))])
    #expect(value.prettyText == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"x\"\n}")
    let read = try JSONDocument(parsing: Array(value.prettyText.utf8))
    #expect(read.root.value.text == value.text)
  }

  /// With random values.
  @Test func `parsing written text gives the same bytes again`() throws {
    var chance = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      let value = Self.random(depth: 0, &chance)
      let document = try JSONDocument(parsing: value.bytes)
      #expect(document.root.value.bytes == value.bytes, "\(value.text)")
      let pretty = try JSONDocument(parsing: Array(value.prettyText.utf8))
      #expect(pretty.root.value.bytes == value.bytes, "\(value.text)")
    }
  }

  private static func random(
    depth: Int, _ chance: inout some RandomNumberGenerator
  ) -> JSONValue {
    let pool = ["", "a", "\"", "\\u0041", "\u{0}\n", "é", "e\u{301}", "😀", "/"]
    switch Int.random(in: 0..<(depth > 4 ? 5 : 7), using: &chance) {
    case 0: return .null
    case 1: return .boolean(Bool.random(using: &chance))
    case 2: return .integer(Int64.random(in: .min ... .max, using: &chance))
    case 3: return .number("\(Int.random(in: -9...9, using: &chance)).5e-3")
    case 4: return .string((0..<3).map { _ in pool.randomElement(using: &chance) ?? "" }.joined())
    case 5: return .array((0..<3).map { _ in random(depth: depth + 1, &chance) })
    default:
      return .object(pool.map { ($0, random(depth: depth + 2, &chance)) })
    }
  }
}

/// Texts that take long in a parser that is not linear.
@Suite(.serialized) struct EffortTests {
  /// Seconds of this thread: other tests run at the same time.
  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// Expects linear work: quadratic work takes 64 times as long for eight times the size.
  private func expectLinear(_ size: Int, _ text: (Int) -> String) throws {
    let durations = try [size / 8, size].map { size in
      let bytes = Array(text(size).utf8)
      return try (0..<3).map { _ in
        let start = Self.processorTime()
        _ = try JSONDocument(parsing: bytes).root.string
        return Self.processorTime() - start
      }.min() ?? 0
    }
    #expect(durations[1] < durations[0] * 30, "\(durations)")
  }

  @Test func `an object of 100,000 members is parsed in linear time`() throws {
    func text(_ count: Int) -> String {
      "{" + (0..<count).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}"
    }
    try expectLinear(100_000, text)
    // Names that collide under a hash without a seed: anagrams of pairs with equal sums.
    let pairs = (0..<13).reduce([""]) { names, _ in names.flatMap { [$0 + "Aa", $0 + "BB"] } }
    try expectLinear(pairs.count) { count in
      "{" + pairs.prefix(count).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
    }
    let document = try JSONDocument(parsing: Array(text(100_000).utf8))
    #expect(document.root["k99999"]?.integer == 99_999)
  }

  @Test func `members and values beyond a limit are refused where it is reached`() throws {
    let limits = JSONLimits(members: 3, values: 8)
    func reason(_ text: String) -> JSONError.Reason? {
      do throws(JSONError) {
        _ = try JSONDocument(parsing: Array(text.utf8), within: limits)
        return nil
      } catch {
        return error.reason
      }
    }
    #expect(reason(#"{"a":1,"b":2,"c":3}"#) == nil)
    #expect(reason(#"{"a":1,"b":2,"c":3,"d":4}"#) == .members)
    #expect(reason(#"[{"a":1,"b":2},{"a":1}]"#) == .members)
    #expect(reason("[1,2,3,4,5,6,7]") == nil)
    #expect(reason("[1,2,3,4,5,6,7,8]") == .members)
    #expect(reason("[1,2,3,4,5,6,7,8") == .members, "not read to its end")
  }

  @Test func `long strings and arrays are parsed in linear time`() throws {
    func long(_ count: Int) -> String {
      "\"" + String(repeating: "\\u00e9x", count: count) + "\""
    }
    func wide(_ count: Int) -> String { "[" + String(repeating: "1,", count: count) + "1]" }
    try expectLinear(40_000, long)
    try expectLinear(100_000, wide)
    let text = try JSONDocument(parsing: Array(long(40_000).utf8)).root.string
    #expect(text?.utf8.count == 120_000)
    #expect(try JSONDocument(parsing: Array(wide(100_000).utf8)).root.elements.count == 100_001)
  }
}
