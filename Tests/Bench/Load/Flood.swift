import Glibc
import Platform

/// Sends requests at a given rate as long as a connection is free, however slowly they are answered
/// (an open loop).
///
/// It has one thread with epoll, and one outstanding request on each connection.
struct Flood: ~Copyable {
  /// The results.
  struct Report {
    /// Requests that were sent.
    var offered = 0
    /// Answers of 200.
    var accepted = LoadReport()
    /// Answers of 503 with Retry-After.
    var refused = LoadReport()
    /// All other answers, by status; under 0 the connections closed without an answer, under -1 the
    /// requests that were never answered.
    var others: [Int: Int] = [:]
    var seconds = 0.0
  }

  private let requests: any Requests
  private let port: UInt16
  private var epoll: Epoll
  /// The index is the token of a connection's events.
  private var connections: [LoadConnection] = []
  /// Tokens of the connections without an outstanding request.
  private var idle: [Int] = []
  private var report = Report()
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  private let marker = Array(#""outcome":""#.utf8)

  /// How long to wait for answers after the last request, in nanoseconds.
  private static let answerTimeout: Int64 = 10_000_000_000

  /// - Parameters:
  ///   - requests: sent in turn, repeatedly.
  ///   - rate: requests a second.
  /// - Throws: `BenchError.unmeasurable` if the system refuses a socket or connection.
  static func run(
    _ requests: any Requests, rate: Double, seconds: Double, connections: Int, port: UInt16
  ) throws(BenchError) -> Report {
    var flood = try Flood(requests, port)
    for token in 0..<connections { try flood.connect(token) }
    try flood.run(rate, seconds)
    return flood.report
  }

  private init(_ requests: any Requests, _ port: UInt16) throws(BenchError) {
    self.requests = requests
    self.port = port
    do throws(LedgerError) {
      epoll = try .open()
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  private mutating func connect(_ token: Int) throws(BenchError) {
    let connection = try LoadConnection.open(port: port)
    do throws(LedgerError) {
      try epoll.add(connection.socket.descriptor, token: UInt64(token), .read)
    } catch {
      throw .unmeasurable(error.detail)
    }
    if token == connections.count {
      connections.append(connection)
    } else {
      connections[token] = connection
    }
    idle.append(token)
  }

  private mutating func run(_ rate: Double, _ seconds: Double) throws(BenchError) {
    let start = Clock.monotonicNanoseconds()
    let end = start + Int64(seconds * 1e9)
    var now = start
    while now < end || (idle.count < connections.count && now < end + Self.answerTimeout) {
      let due = now < end ? Int(Double(now - start) / 1e9 * rate) : 0
      while report.offered < due, let token = idle.popLast() { try begin(token) }
      let count = epoll.wait(milliseconds: report.offered < due ? 0 : 1)
      for index in 0..<count { try handle(epoll.event(at: index)) }
      now = Clock.monotonicNanoseconds()
    }
    let missing = connections.count - idle.count
    if missing > 0 { report.others[-1] = missing }
    report.seconds = seconds
    report.accepted.latencies.sort()
    report.refused.latencies.sort()
  }

  private mutating func begin(_ token: Int) throws(BenchError) {
    let connection = connections[token]
    try requests.write(report.offered % requests.count, to: &connection.request)
    connection.sent = 0
    connection.start = Clock.monotonicNanoseconds()
    report.offered += 1
    try send(token)
  }

  private mutating func send(_ token: Int) throws(BenchError) {
    let connection = connections[token]
    let wasBlocked = connection.isBlocked
    do throws(BenchError) {
      connection.isBlocked = try connection.send()
    } catch {
      return try replace(token)
    }
    guard connection.isBlocked != wasBlocked else { return }
    epoll.change(
      connection.socket.descriptor, token: UInt64(token), connection.isBlocked ? .write : .read)
  }

  /// Connects again, as a client does when the daemon has closed its connection.
  private mutating func replace(_ token: Int) throws(BenchError) {
    report.others[0, default: 0] += 1
    epoll.remove(connections[token].socket.descriptor)
    try connect(token)
  }

  private mutating func handle(_ event: Epoll.Event) throws(BenchError) {
    let token = Int(event.token)
    let connection = connections[token]
    if event.broken { return try replace(token) }
    if event.writable && connection.isBlocked { try send(token) }
    guard event.readable else { return }
    do throws(BenchError) {
      guard let answer = try connection.receive(&buffer, marker: marker) else { return }
      record(answer, Clock.monotonicNanoseconds() - connection.start)
      idle.append(token)
    } catch {
      try replace(token)
    }
  }

  private mutating func record(_ answer: LoadConnection.Answer, _ latency: Int64) {
    switch (answer.status, answer.hasMarker, answer.hasRetryAfter) {
    case (200, true, _):
      report.accepted.good += 1
      report.accepted.latencies.append(latency)
    case (503, _, true):
      report.refused.good += 1
      report.refused.latencies.append(latency)
    default: report.others[answer.status, default: 0] += 1
    }
  }
}
