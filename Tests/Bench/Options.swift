/// The options of the command line.
struct Options {
  /// Measures what depends on the journal's size, instead of the other measurements.
  var isLarge = false
  /// Customers of the fleet whose notifications are sent.
  var customers = 20_000
  /// The file that the notifications are signed into, or were signed into by an earlier run; nil
  /// for one in the run's folder.
  var input: String?
  /// Events of the large journal.
  var events = 10_000_000
  var connections = 64
  /// The daemon's limit of connections: those of one load may still be closing when those of the
  /// next are opened.
  var connectionLimit: Int { connections * 2 + 16 }
  var subledger = ".build/release/subledger"
  /// The folder of the daemon's files; nil for a new one under `.bench` that is deleted at the end.
  var data: String?
  /// A file that the measurements are also written to as JSON.
  var json: String?
  /// Checks the daemon's bounds under slow clients and overload, instead of measuring.
  var isSiege = false
  /// Measures messages to sinks, and what they cost notifications.
  var isSinks = false
  /// Seconds for which the messages of an outage are delivered at most.
  var seconds = 60
  var wantsHelp = false

  static let help = """
    usage: subledger-bench [--customers N] [--input FILE] [--subledger PATH] [--connections N]
                           [--data DIR] [--json FILE]
           subledger-bench --large [--events N] …
           subledger-bench --siege …
           subledger-bench --sinks [--events N] [--seconds N] …

    Measures the daemon on this machine. It first signs the notifications of a fleet over 400 days
    into a file, then sends them over kept-alive connections and reads rows back. It compares the
    processor time with that of the three P-256 verifications in each, measured in the same run.

      --customers N     customers of the fleet, 200 to 100000 (20000, or 1500 for a siege); one has
                        5.6 notifications of 19 KB
      --input FILE      signs into this file and leaves it there, with its authority beside it;
                        if it exists, its content is sent (default: a file of the run)

    --large measures what depends on the number of events in the journal. They are written directly
    through the journal's writer, with random bytes as signatures. A second journal of 100,000
    events is made for comparison. It needs 1 KB of disk an event, and does not start without that.

      --events N        events of the large journal, 200000 to 100000000 (10000000)

    --siege checks the daemon's bounds: two thousand slow clients, then ten times the load that it
    can answer on one processor. A normal client must not be affected, excess requests must be
    refused at once, and accepted ones answered within a second. Takes --customers and --input too.

    --sinks measures webhooks to a receiver of its own: messages a second after an outage, the time
    from a notification to the receiver, and what a sink costs notifications beside it. Takes
    --customers and --input too.

      --events N        events that wait after the outage, 100000 to 100000000 (200000)
      --seconds N       how long they are delivered at most, 5 to 36000 (60)

    All of them:

      --subledger PATH  the binary to measure (.build/release/subledger)
      --connections N   kept-alive connections, 1 to 1024 (64); not with --siege
      --data DIR        a new folder for the daemon's files, which is not deleted (default: a new
                        one under .bench, deleted at the end). With --large it may have journals
                        that an earlier run made, and they are used again
      --json FILE       also writes the measurements to FILE as JSON

    Exits with 0 if it has measured, whatever the results; 2 for wrong arguments; 3 if it could not
    measure. With --siege it exits with 1 if a bound was exceeded.

    example: subledger-bench --customers 2000 --json bench.json
    example: subledger-bench --large --events 1000000 --data journals
    example: subledger-bench --siege --json siege.json

    """

  /// - Throws: `BenchError.usage` for an unknown argument, a wrong value, or a flag that the chosen
  ///   form does not have.
  init(_ arguments: [String]) throws(BenchError) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h": wantsHelp = true
      case "--large": isLarge = true
      case "--siege": isSiege = true
      case "--sinks": isSinks = true
      default:
        guard Self.flagsWithValue.contains(argument) else {
          throw .usage("unknown argument '\(argument)'; see --help")
        }
        guard let value = rest.popFirst() else { throw .usage("\(argument) needs a value") }
        try set(argument, value)
        given.insert(argument)
      }
    }
    if isSiege, !given.contains("--customers") { customers = Self.siegeCustomers }
    if isSinks, !given.contains("--customers") { customers = Self.sinkCustomers }
    if isSinks, !given.contains("--events") { events = Self.sinkEvents }
    try requireOneForm()
  }

  /// A flag without effect in the chosen form is refused.
  private func requireOneForm() throws(BenchError) {
    guard [isLarge, isSiege, isSinks].count(where: { $0 }) <= 1 else {
      throw .usage("--large, --siege and --sinks exclude each other; see --help")
    }
    guard isLarge || isSinks || !given.contains("--events") else {
      throw .usage("--events needs --large or --sinks; see --help")
    }
    guard !isLarge || events >= Self.fewestOfLarge else {
      throw .usage("--events must be at least \(Self.fewestOfLarge) with --large; see --help")
    }
    guard isSinks || !given.contains("--seconds") else {
      throw .usage("--seconds needs --sinks; see --help")
    }
    let others: Set = isLarge ? ["--customers", "--input"] : isSiege ? ["--connections"] : []
    if let flag = given.intersection(others).min() {
      throw .usage("\(flag) cannot be used with \(isLarge ? "--large" : "--siege"); see --help")
    }
  }

  /// The flags with a value that the command line has.
  private var given: Set<String> = []
  /// The default of `customers` with `--siege`, which sends its notifications repeatedly.
  private static let siegeCustomers = 1_500

  /// A large journal is compared with one of half as many events.
  private static let fewestOfLarge = 200_000
  /// The defaults with `--sinks`: enough notifications for its turns.
  private static let sinkCustomers = 4_000
  private static let sinkEvents = 200_000

  private static let flagsWithValue: Set<String> = [
    "--seconds",
    "--subledger", "--customers", "--input", "--events", "--connections", "--data", "--json",
  ]

  private mutating func set(_ flag: String, _ value: String) throws(BenchError) {
    switch flag {
    case "--customers": customers = try Self.number(flag, value, 200...100_000)
    case "--input": input = value
    case "--events": events = try Self.number(flag, value, 100_000...100_000_000)
    case "--seconds": seconds = try Self.number(flag, value, 5...36_000)
    case "--connections": connections = try Self.number(flag, value, 1...1024)
    case "--data": data = value
    case "--json": json = value
    default: subledger = value
    }
  }

  private static func number(
    _ flag: String, _ value: String, _ range: ClosedRange<Int>
  ) throws(BenchError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      let bounds = "\(range.lowerBound) to \(range.upperBound)"
      throw .usage("\(flag) '\(value)': must be a whole number, \(bounds)")
    }
    return number
  }
}
