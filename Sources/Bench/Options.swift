/// What the command line says.
struct Options {
  /// Events to send, about: the fleet's customers are whole.
  var events = 20_000
  var connections = 64
  var subledger = ".build/release/subledger"
  /// Where the daemon's folder is made; a new one under `.bench`, deleted at the end, where nil.
  var data: String?
  /// Where the figures go as JSON as well.
  var json: String?
  /// Holds the daemon to its bounds under slow clients and too many, in place of measuring.
  var isSiege = false
  var wantsHelp = false

  static let help = """
    usage: subledger-bench [--subledger PATH] [--events N] [--connections N] [--data DIR]
                           [--json FILE] [--siege]

    Measures the daemon on this machine: it signs a fleet's notifications first, sends them over
    kept-alive connections, reads rows back, and sets the processor time against that of the
    three P-256 verifications in each, measured in the same run.

      --subledger PATH  the binary to measure (.build/release/subledger)
      --events N        about so many notifications, 500 to 1,000,000 (20000); 14 KB of memory each
      --connections N   connections kept alive, 1 to 1024 (64)
      --data DIR        a new folder for the daemon's files; is left there (default: a new one
                        under .bench, deleted at the end)
      --json FILE       writes the figures there as JSON too
      --siege           two thousand slow clients, then ten times the load that the daemon can bear
                        on one processor: who behaves well must not notice, the excess must be told
                        at once, what is accepted answered within a second

    Exits 0 when it has measured, whatever came out; 2 for wrong words; 3 when it could not measure.
    A siege exits 1 where a bound was not held.

    example: subledger-bench --events 5000 --json bench.json

    """

  init(_ arguments: [String]) throws(BenchError) {
    var words = arguments[...]
    while let word = words.popFirst() {
      if word == "--help" || word == "-h" {
        wantsHelp = true
        continue
      }
      if word == "--siege" {
        isSiege = true
        continue
      }
      guard Self.valued.contains(word) else {
        throw .usage("unknown word '\(word)'; see --help")
      }
      guard let value = words.popFirst() else { throw .usage("\(word) needs a value") }
      try take(word, value)
    }
  }

  private static let valued: Set<String> = [
    "--subledger", "--events", "--connections", "--data", "--json",
  ]

  private mutating func take(_ word: String, _ value: String) throws(BenchError) {
    switch word {
    case "--events": events = try Self.number(word, value, 500...1_000_000)
    case "--connections": connections = try Self.number(word, value, 1...1024)
    case "--data": data = value
    case "--json": json = value
    default: subledger = value
    }
  }

  private static func number(
    _ word: String, _ value: String, _ range: ClosedRange<Int>
  ) throws(BenchError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      let bounds = "\(range.lowerBound) to \(range.upperBound)"
      throw .usage("\(word) '\(value)': is a whole number, \(bounds)")
    }
    return number
  }
}
