import AppStoreSimulator
import Glibc
import Platform
import StrictJSON

/// The notifications of a fleet, which are signed into a file before anything is measured.
struct Input {
  let file: BodyFile
  let customers: Int
  /// The number of notifications with three signatures. They come first in the file, and only they
  /// are measured, so that each costs the same to prove. The others, mostly one-time purchases,
  /// have fewer signatures.
  let threeSigned: Int
  /// The number of notifications of each stream, by original transaction id.
  let streams: [String: Int]

  /// The first line is a heading.
  private static let firstLine = 1
  /// The days before `end` within which the fleet's customers begin.
  static let days: Int64 = 400
  /// 2026-01-01T00:00:00Z: fixed, so that every run has the same payloads.
  static let end: Int64 = 1_767_225_600_000
  static let seed: UInt64 = 7

  /// The folder of the authority that signed a file.
  static func authority(of path: String) -> String { path + ".authority" }

  /// Signs a fleet into the file, unless the file exists.
  ///
  /// - Throws: `BenchError.unmeasurable` if it cannot be written, or exists with another fleet.
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
      Bench.log("signing \(all.count) notifications")
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

  /// The heading describes the fleet that a file was made for.
  private static func requireHeading(
    _ heading: JSONValue, of file: BodyFile, lines: Int
  ) throws(BenchError) {
    var line: [UInt8] = []
    if file.count > 0 { try file.append(0, to: &line) }
    guard file.count == lines, line == Array(heading.text.utf8) else {
      throw .unmeasurable("\(file.path) holds another fleet; remove it, or name another file")
    }
  }

  /// The authority of a folder; a new one if there is no such folder.
  ///
  /// - Throws: `BenchError.unmeasurable` if it can neither be read nor made.
  static func authority(in folder: String) throws(BenchError) -> SimulatedAuthority {
    do throws(SimulatorError) {
      if access(folder, F_OK) == 0 { return try SimulatedAuthority.load(from: folder) }
      return try SimulatedAuthority.create(at: folder)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  /// Whether it has the signatures of the notification, of its transaction and of its renewal
  /// information.
  static func hasThreeSignatures(_ notification: SimulatedNotification) -> Bool {
    let data = notification.payload["data"]
    return data?["transaction"] != nil && data?["renewalInfo"] != nil
  }

  /// The number of notifications.
  var count: Int { file.count - Self.firstLine }

  /// The mean length in bytes of bodies with three signatures.
  var bodyBytes: Double {
    let bytes = (0..<threeSigned).reduce(0) { $0 + file.length(of: $1 + Self.firstLine) }
    return Double(bytes) / Double(max(1, threeSigned))
  }

  /// POSTs of some notifications, counted from 0 in the order of the file.
  func posts(_ range: Range<Int>) -> Posts {
    let first = range.lowerBound + Self.firstLine
    return Posts(file: file, lines: first..<first + range.count)
  }

  /// The notifications between two shares, 0 to 1, of those with three signatures.
  func measured(_ from: Double, _ through: Double) -> Range<Int> {
    Int(Double(threeSigned) * from)..<Int(Double(threeSigned) * through)
  }
}
