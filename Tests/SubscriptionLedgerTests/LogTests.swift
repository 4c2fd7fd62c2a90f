import SubscriptionLedger
import Testing

/// A log line looks like what it is on any terminal, and nobody can make it long.
@Suite struct LogTests {
  @Test(arguments: [
    ("plain text, é 😀", "plain text, é 😀"), ("a\r\nb", "a<U+D><U+A>b"),
    ("\u{1B}[2J", "<U+1B>[2J"), ("\u{202E}abc", "<U+202E>abc"),
    ("\u{2066}x\u{2069}", "<U+2066>x<U+2069>"),
    ("\u{0}\u{7F}\u{85}", "<U+0><U+7F><U+85>"), ("\u{200F}\u{FEFF}", "<U+200F><U+FEFF>"),
    ("\u{2028}\u{2029}", "<U+2028><U+2029>"), ("\u{E000}", "<U+E000>"), ("", ""),
  ])
  func showsByNumber(_ text: String, _ shown: String) {
    #expect(Log.escaped(text) == shown)
  }

  @Test func everyCharacterIsSafe() {
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

  @Test func isBounded() {
    for piece in ["a", "\u{202E}", "😀", "\"", "\\"] {
      let shown = Log.escaped(String(repeating: piece, count: 65_536))
      #expect(shown.utf8.count <= 272 && shown.hasSuffix("…"))
    }
    #expect(!Log.escaped(String(repeating: "a", count: 256)).hasSuffix("…"))
  }
}

@Suite struct CountersTests {
  @Test func textIsSortedWithOneTypeAFamily() {
    let counters = Counters()
    counters.add(#"subledger_refusals_total{reason="signature"}"#)
    counters.add(#"subledger_refusals_total{reason="chain"}"#, 2)
    counters.add(#"subledger_refusals_total{reason="chain"}"#)
    counters.add("subledger_seq", 7)
    #expect(
      counters.text == """
        # TYPE subledger_refusals_total counter
        subledger_refusals_total{reason="chain"} 3
        subledger_refusals_total{reason="signature"} 1
        # TYPE subledger_seq gauge
        subledger_seq 7

        """)
  }

  /// A family stays together though names with and without labels surround it.
  @Test func oneTypeLineAFamily() {
    let counters = Counters()
    for name in ["a_total", #"a_total{x="1"}"#, "a_total_more", "a_totals", "b"] {
      counters.add(name)
    }
    let types = counters.text.split(separator: "\n").filter { $0.hasPrefix("#") }
    #expect(types.count == Set(types).count)
  }

  @Test func namesAreBounded() {
    let counters = Counters()
    for number in 0..<5000 { counters.add("n\(number)") }
    counters.add("n0")
    #expect(counters.text.split(separator: "\n").count == 2000)
    #expect(counters.text.contains("n0 2\n"))
  }

  @Test func manyThreadsLoseNothing() async {
    let counters = Counters()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { for _ in 0..<1000 { counters.add("c") } } }
    }
    #expect(counters.text.contains("c 8000\n"))
  }
}
