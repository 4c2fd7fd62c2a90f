import Glibc
import Platform

/// Sends prepared requests over kept-alive connections as fast as they are answered: one thread,
/// epoll, one request under way on each connection.
///
/// It shares the machine with what it measures, so it is frugal: requests are whole beforehand, and
/// of an answer only status, length and one marker are looked at.
struct LoadGenerator: ~Copyable {
  private let requests: ArraySlice<[UInt8]>
  /// Requests to send in all.
  private let total: Int
  private let marker: [UInt8]
  private var epoll: Epoll
  /// By token of their events.
  private var connections: [LoadConnection] = []
  /// Requests begun, and requests answered.
  private var next = 0
  private var answered = 0
  private var report = LoadReport()
  /// All connections receive through it; answers are far shorter.
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

  /// Without an answer for so long, in milliseconds, there is nothing to measure.
  private static let patience: Int32 = 30_000

  /// - Parameters:
  ///   - total: how many requests to send; they are used in turn, and again from the first.
  ///   - marker: what a good answer contains.
  static func run(
    _ requests: ArraySlice<[UInt8]>, total: Int, connections: Int, port: UInt16, marker: String
  ) throws(BenchError) -> LoadReport {
    var generator = try LoadGenerator(requests, total, marker)
    try generator.connect(min(connections, total), port)
    try generator.run()
    return generator.report
  }

  private init(
    _ requests: ArraySlice<[UInt8]>, _ total: Int, _ marker: String
  ) throws(BenchError) {
    self.requests = requests
    self.total = total
    self.marker = Array(marker.utf8)
    do throws(PlatformError) {
      epoll = try .open()
    } catch {
      throw .unmeasurable("\(error)")
    }
    report.latencies.reserveCapacity(total)
  }

  /// Connects before the clock starts: kept-alive connections are what is measured.
  private mutating func connect(_ count: Int, _ port: UInt16) throws(BenchError) {
    for token in 0..<count {
      let connection = try LoadConnection.open(port: port)
      do throws(PlatformError) {
        try epoll.add(connection.socket.descriptor, token: UInt64(token), .read)
      } catch {
        throw .unmeasurable("\(error)")
      }
      connections.append(connection)
    }
  }

  private mutating func run() throws(BenchError) {
    let start = Clock.monotonicNanoseconds()
    for token in connections.indices { try begin(token) }
    while answered < total {
      let count = epoll.wait(milliseconds: Self.patience)
      guard count > 0 || errno == EINTR else {
        throw .unmeasurable("no answer for \(Self.patience / 1000) seconds")
      }
      for place in 0..<count { try react(to: epoll.event(at: place)) }
    }
    report.seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    report.latencies.sort()
  }

  /// Starts the next request on a connection, if there is one.
  private mutating func begin(_ token: Int) throws(BenchError) {
    guard next < total else { return }
    let connection = connections[token]
    connection.request = requests[requests.startIndex + next % requests.count]
    connection.sent = 0
    connection.start = Clock.monotonicNanoseconds()
    next += 1
    try send(token)
  }

  /// Sends what the kernel takes, and watches for room where it does not take all.
  private mutating func send(_ token: Int) throws(BenchError) {
    let connection = connections[token]
    let wasBlocked = connection.isBlocked
    connection.isBlocked = try connection.send()
    guard connection.isBlocked != wasBlocked else { return }
    epoll.change(
      connection.socket.descriptor, token: UInt64(token), connection.isBlocked ? .write : .read)
  }

  /// Counts an answer that is complete and begins the next request at once.
  private mutating func react(to event: Epoll.Event) throws(BenchError) {
    let token = Int(event.token)
    let connection = connections[token]
    if event.broken { throw .unmeasurable("the daemon closed a connection") }
    if event.writable && connection.isBlocked { try send(token) }
    guard event.readable, let answer = try connection.receive(&buffer, marker: marker) else {
      return
    }
    answered += 1
    report.latencies.append(Clock.monotonicNanoseconds() - connection.start)
    if answer.status == 200 && answer.hasMarker {
      report.good += 1
    } else {
      report.others[answer.status, default: 0] += 1
    }
    try begin(token)
  }
}
