import Glibc
import Platform

/// Sends requests at a given rate, whatever becomes of them: who is answered slowly does
/// not get fewer (an open loop), as long as a connection is free.
///
/// One thread, epoll, one request under way on each connection.
struct Flood: ~Copyable {
  /// What came of it.
  struct Report {
    /// Requests that were sent.
    var offered = 0
    /// Answers of 200, and of 503 with Retry-After.
    var accepted = LoadReport()
    var refused = LoadReport()
    /// All other answers, by status; 0 where the connection was closed instead.
    var others: [Int: Int] = [:]
    var seconds = 0.0
  }

  private let requests: any Requests
  private let port: UInt16
  private var epoll: Epoll
  /// By token of their events.
  private var connections: [LoadConnection] = []
  /// Those with no request under way.
  private var idle: [Int] = []
  private var report = Report()
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)
  private let marker = Array(#""outcome":""#.utf8)

  /// After the last request, so long is waited for the last answer, in nanoseconds.
  private static let patience: Int64 = 10_000_000_000

  /// - Parameters:
  ///   - requests: used in turn, and again from the first.
  ///   - rate: requests a second.
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
    do throws(PlatformError) {
      epoll = try .open()
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  private mutating func connect(_ token: Int) throws(BenchError) {
    let connection = try LoadConnection.open(port: port)
    do throws(PlatformError) {
      try epoll.add(connection.socket.descriptor, token: UInt64(token), .read)
    } catch {
      throw .unmeasurable("\(error)")
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
    while now < end || (idle.count < connections.count && now < end + Self.patience) {
      let due = now < end ? Int(Double(now - start) / 1e9 * rate) : 0
      while report.offered < due, let token = idle.popLast() { try begin(token) }
      let count = epoll.wait(milliseconds: report.offered < due ? 0 : 1)
      for place in 0..<count { try react(to: epoll.event(at: place)) }
      now = Clock.monotonicNanoseconds()
    }
    // What was never answered has no status at all.
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

  /// The daemon closed it; a client would connect anew.
  private mutating func replace(_ token: Int) throws(BenchError) {
    report.others[0, default: 0] += 1
    epoll.remove(connections[token].socket.descriptor)
    try connect(token)
  }

  private mutating func react(to event: Epoll.Event) throws(BenchError) {
    let token = Int(event.token)
    let connection = connections[token]
    if event.broken { return try replace(token) }
    if event.writable && connection.isBlocked { try send(token) }
    guard event.readable else { return }
    do throws(BenchError) {
      guard let answer = try connection.receive(&buffer, marker: marker) else { return }
      note(answer, Clock.monotonicNanoseconds() - connection.start)
      idle.append(token)
    } catch {
      try replace(token)
    }
  }

  private mutating func note(_ answer: LoadConnection.Answer, _ latency: Int64) {
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
