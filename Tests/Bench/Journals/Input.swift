import Glibc
import Platform
import Simulator
import StrictJSON

/// What is sent: a fleet's notifications, signed into a file before anything is measured.
struct Input {
  let file: BodyFile
  let customers: Int
  /// Those with three signatures come first; behind them those with fewer, one-time purchases
  /// mostly. So the measured ones all cost the proof the same.
  let threeSigned: Int
  /// How many of the notifications each stream has.
  let streams: [String: Int]

  /// The first line is a heading.
  private static let firstLine = 1
  /// How long ago the fleet's first customer came.
  static let days: Int64 = 400
  /// 2026-01-01T00:00:00Z: the same payloads on every day the program runs.
  static let end: Int64 = 1_767_225_600_000
  static let seed: UInt64 = 7

  /// Where the authority lies that signed a file.
  static func authority(of path: String) -> String { path + ".authority" }

  /// Signs a fleet into the file, unless that was done before.
  static func prepare(_ path: String, customers: Int) throws(BenchError) -> Input {
    let fleet = Fleet(
      app: SimulatedApp(), customers: customers, days: days, end: end, seed: seed)
    let all = fleet.notifications()
    let three = all.filter(hasThreeSignatures)
    let heading = JSONValue.object([
      ("customers", .integer(Int64(customers))), ("days", .integer(days)),
      ("notifications", .integer(Int64(all.count))),
      ("three_signatures", .integer(Int64(three.count))),
    ])
    if access(path, F_OK) != 0 {
      Bench.say("signing \(all.count) notifications")
      let rest = all.filter { !hasThreeSignatures($0) }
      try Signing.write(
        (three + rest).map(\.payload), heading: heading,
        try authority(in: authority(of: path)), to: path)
    }
    var streams: [String: Int] = [:]
    for notification in all {
      if let id = notification.originalTransactionId { streams[id, default: 0] += 1 }
    }
    let file = try BodyFile.open(path)
    try requireHeading(heading, of: file, lines: all.count + firstLine)
    return Input(file: file, customers: customers, threeSigned: three.count, streams: streams)
  }

  /// A file made for another fleet would be measured under a wrong name.
  private static func requireHeading(
    _ heading: JSONValue, of file: BodyFile, lines: Int
  ) throws(BenchError) {
    var line: [UInt8] = []
    if file.count > 0 { try file.append(0, to: &line) }
    guard file.count == lines, line == Array(heading.text.utf8) else {
      throw .unmeasurable("\(file.path) holds another fleet; remove it, or name another file")
    }
  }

  /// The authority of a folder; a new one where there is none.
  static func authority(in folder: String) throws(BenchError) -> SimulatedAuthority {
    do throws(SimulatorError) {
      if access(folder, F_OK) == 0 { return try SimulatedAuthority.load(from: folder) }
      return try SimulatedAuthority.create(at: folder)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  /// Its own, its transaction's, its renewal information's.
  static func hasThreeSignatures(_ notification: SimulatedNotification) -> Bool {
    let data = notification.payload["data"]
    return data?["transaction"] != nil && data?["renewalInfo"] != nil
  }

  /// All of them.
  var count: Int { file.count - Self.firstLine }

  /// Bytes of a body on the wire: the mean of those with three signatures.
  var bodyBytes: Double {
    let bytes = (0..<threeSigned).reduce(0) { $0 + file.length(of: $1 + Self.firstLine) }
    return Double(bytes) / Double(max(1, threeSigned))
  }

  /// Some of them, counted from 0 in the order of the file.
  func posts(_ range: Range<Int>) -> Posts {
    let first = range.lowerBound + Self.firstLine
    return Posts(file: file, lines: first..<first + range.count)
  }

  /// Those between two shares of the ones with three signatures.
  func measured(_ from: Double, _ through: Double) -> Range<Int> {
    Int(Double(threeSigned) * from)..<Int(Double(threeSigned) * through)
  }
}
