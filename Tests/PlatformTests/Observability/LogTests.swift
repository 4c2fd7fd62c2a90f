import Platform
import StrictJSON
import Testing

/// Text from outside cannot control the terminal and cannot make a log line long.
@Suite struct LogTests {
  @Test(arguments: [
    ("plain text, é 😀", "plain text, é 😀"), ("a\r\nb", "a<U+D><U+A>b"),
    ("\u{1B}[2J", "<U+1B>[2J"), ("\u{202E}abc", "<U+202E>abc"),
    ("\u{2066}x\u{2069}", "<U+2066>x<U+2069>"),
    ("\u{0}\u{7F}\u{85}", "<U+0><U+7F><U+85>"), ("\u{200F}\u{FEFF}", "<U+200F><U+FEFF>"),
    ("\u{2028}\u{2029}", "<U+2028><U+2029>"), ("\u{E000}", "<U+E000>"), ("", ""),
  ])
  func `replaces unsafe characters by their number`(_ text: String, _ shown: String) {
    #expect(Log.escaped(text) == shown)
  }

  @Test func `no unsafe character is left in any text`() {
    for value in UInt32(0)...0x10FFFF where value < 0x3000 || value % 61 == 0 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for shown in Log.escaped(String(scalar)).unicodeScalars {
        switch shown.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: Issue.record("U+\(value)")
        default: break
        }
      }
    }
  }

  @Test func `escaped text is cut after 256 bytes`() {
    for character in ["a", "\u{202E}", "😀", "\"", "\\"] {
      let shown = Log.escaped(String(repeating: character, count: 65_536))
      #expect(shown.utf8.count <= 272 && shown.hasSuffix("…"))
    }
    #expect(!Log.escaped(String(repeating: "a", count: 256)).hasSuffix("…"))
  }
}

/// One complete line of the log.
@Suite struct LogLineTests {
  private func line(_ fields: [(String, JSONValue)]) -> LogLine {
    LogLine(time: 0, level: .info, event: "notification", fields: fields)
  }

  @Test func `a line is one JSON object`() throws {
    let bytes = line([
      ("type", .string("DID_RENEW")), ("seq", .integer(7)), ("subtype", .null),
    ]).json
    #expect(
      String(decoding: bytes, as: UTF8.self) == #"{"time":"1970-01-01T00:00:00Z","level":"info","#
        + #""event":"notification","type":"DID_RENEW","seq":7,"subtype":null}"# + "\n")
  }

  /// It is also one line, and one JSON object.
  @Test func `a line has at most 2,048 bytes whatever the fields are`() throws {
    for character in ["a", "\u{202E}", "😀", "\"", "\\", "\n", "\u{0}"] {
      let text = String(repeating: character, count: 100_000)
      let fields = (0..<12).map { ("field\($0)", JSONValue.string(text)) }
      let bytes = line(fields + [("array", .array([.string(text)]))]).json
      #expect(bytes.count <= LogLine.maximum && bytes.last == 0x0A)
      #expect(bytes.count { $0 == 0x0A } == 1)
      let root = try JSONDocument(parsing: Array(bytes.dropLast())).root
      #expect(root["cut"]?.boolean == true && root["field0"]?.string != nil)
      let plain = line(fields).plain
      #expect(plain.count <= LogLine.maximum && plain.count { $0 == 0x0A } == 1)
    }
  }

  @Test func `a line for a terminal has quotes only where needed`() {
    let bytes = line([("a", .string("x")), ("b", .string("two words")), ("c", .integer(3))]).plain
    #expect(
      String(decoding: bytes, as: UTF8.self)
        == "1970-01-01T00:00:00Z info    notification a=x b=\"two words\" c=3\n")
  }
}
