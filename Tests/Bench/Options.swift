/// What the command line says.
struct Options {
  /// Whether the rows are measured that need a large journal, instead of the others.
  var isLarge = false
  /// Customers of the fleet whose notifications are sent.
  var customers = 20_000
  /// Where those are signed into, or were signed before; in the run's folder where nil.
  var input: String?
  /// Events of the large journal.
  var events = 10_000_000
  var connections = 64
  /// Connections that the daemon takes: those of one load may still be closing when those of the
  /// next come.
  var places: Int { connections * 2 + 16 }
  var subledger = ".build/release/subledger"
  /// Where the daemon's folder is made; a new one under `.bench`, deleted at the end, where nil.
  var data: String?
  /// Where the figures go as JSON as well.
  var json: String?
  /// Holds the daemon to its bounds under slow clients and too many, in place of measuring.
  var isSiege = false
  var wantsHelp = false

  static let help = """
    usage: subledger-bench [--customers N] [--input FILE] [--subledger PATH] [--connections N]
                           [--data DIR] [--json FILE]
           subledger-bench --large [--events N] …
           subledger-bench --siege …

    Measures the daemon on this machine. It signs the notifications of a fleet over 400 days into
    a file first, sends them over kept-alive connections, reads rows back, and sets the processor
    time against that of the three P-256 verifications in each, measured in the same run.

      --customers N     customers of the fleet, 200 to 100000 (20000, or 1500 for a siege); one has
                        5.6 notifications of 19 KB
      --input FILE      signs into this file and leaves it there, its authority beside it; where
                        it is there already, what is in it is sent (default: a file of the run)

    --large measures instead what needs many events in the journal. They are written straight
    through the journal's writer, with made-up signatures; a second journal of 100,000 is made to
    compare with. Takes 1 KB of disk an event, and refuses to start where that is missing.

      --events N        events of the large journal, 200000 to 100000000 (10000000)

    --siege holds the daemon to its bounds instead: two thousand slow clients, then ten times the
    load that it can bear on one processor. Who behaves well must not notice, the excess must be
    told at once, what is accepted answered within a second. Takes --customers and --input too.

    All three:

      --subledger PATH  the binary to measure (.build/release/subledger)
      --connections N   connections kept alive, 1 to 1024 (64); a siege has its own
      --data DIR        a new folder for the daemon's files; is left there (default: a new one
                        under .bench, deleted at the end). With --large it may have journals that
                        an earlier run made: they are used again
      --json FILE       writes the figures there as JSON too

    Exits 0 when it has measured, whatever came out; 2 for wrong words; 3 when it could not measure.
    A siege exits 1 where a bound was not held.

    example: subledger-bench --customers 2000 --json bench.json
    example: subledger-bench --large --events 1000000 --data journals
    example: subledger-bench --siege --json siege.json

    """

  init(_ arguments: [String]) throws(BenchError) {
    var words = arguments[...]
    while let word = words.popFirst() {
      switch word {
      case "--help", "-h": wantsHelp = true
      case "--large": isLarge = true
      case "--siege": isSiege = true
      default:
        guard Self.valued.contains(word) else {
          throw .usage("unknown word '\(word)'; see --help")
        }
        guard let value = words.popFirst() else { throw .usage("\(word) needs a value") }
        try take(word, value)
        given.insert(word)
      }
    }
    if isSiege, !given.contains("--customers") { customers = Self.besieging }
    try requireOneForm()
  }

  /// A word that would change nothing is a mistake.
  private func requireOneForm() throws(BenchError) {
    guard !isLarge || !isSiege else {
      throw .usage("--large and --siege are two runs; see --help")
    }
    guard isLarge || !given.contains("--events") else {
      throw .usage("--events goes with --large; see --help")
    }
    let others: Set = isLarge ? ["--customers", "--input"] : isSiege ? ["--connections"] : []
    if let word = given.intersection(others).min() {
      throw .usage("\(word) goes without \(isLarge ? "--large" : "--siege"); see --help")
    }
  }

  private var given: Set<String> = []
  /// Customers of a siege's fleet unless others are asked for: it sends what it has in turn.
  private static let besieging = 1_500

  private static let valued: Set<String> = [
    "--subledger", "--customers", "--input", "--events", "--connections", "--data", "--json",
  ]

  private mutating func take(_ word: String, _ value: String) throws(BenchError) {
    switch word {
    case "--customers": customers = try Self.number(word, value, 200...100_000)
    case "--input": input = value
    case "--events": events = try Self.number(word, value, 200_000...100_000_000)
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
