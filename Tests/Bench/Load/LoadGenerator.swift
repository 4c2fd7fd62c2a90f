import Glibc
import Platform

/// Sends requests over kept-alive connections from one thread with epoll, one outstanding request
/// on each connection.
///
/// It sends either as fast as they are answered (a closed loop), or each at the time that a pacer
/// gives (an open loop). It runs on the measured machine and therefore does little: requests are
/// made beforehand, and of an answer only status, length and one marker are checked.
struct LoadGenerator: ~Copyable {
  private let requests: any Requests
  private let pacer: Pacer?
  private let marker: [UInt8]
  private var epoll: Epoll
  /// The index is the token of a connection's events.
  private var connections: [LoadConnection] = []
  /// Tokens of connections that wait until a request is due, the longest waiting first.
  private var idle: [Int] = []
  private var start: Int64 = 0
  /// The number of the next request, and how many were answered.
  private var next = 0
  private var answered = 0
  private var report = LoadReport()
  /// All connections receive into it; answers are much shorter.
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

  /// The measurement is given up after this time without an answer, in milliseconds.
  private static let answerTimeout: Int32 = 30_000
  private static let wakeupToken = UInt64.max

  /// - Parameters:
  ///   - marker: text that a good answer contains.
  ///   - pacer: has a due time for each request; without one a request follows an answer at once.
  /// - Throws: `BenchError.unmeasurable` if the system refuses a connection, the daemon closes one,
  ///   or no answer arrives for 30 seconds.
  static func run(
    _ requests: any Requests, connections: Int, port: UInt16, marker: String, pacer: Pacer? = nil
  ) throws(BenchError) -> LoadReport {
    var generator = try LoadGenerator(requests, pacer, marker)
    try generator.connect(min(connections, requests.count), port)
    try generator.run()
    return generator.report
  }

  private init(
    _ requests: any Requests, _ pacer: Pacer?, _ marker: String
  ) throws(BenchError) {
    self.requests = requests
    self.pacer = pacer
    self.marker = Array(marker.utf8)
    do throws(LedgerError) {
      epoll = try .open()
    } catch {
      throw .unmeasurable(error.detail)
    }
    report.latencies.reserveCapacity(requests.count)
  }

  /// Connects before the time is measured, because the subject is kept-alive connections.
  private mutating func connect(_ count: Int, _ port: UInt16) throws(BenchError) {
    for token in 0..<count {
      let connection = try LoadConnection.open(port: port)
      try addToEpoll(connection.socket.descriptor, UInt64(token))
      connections.append(connection)
    }
    if let pacer { try addToEpoll(pacer.wakeup.descriptor, Self.wakeupToken) }
  }

  private func addToEpoll(_ descriptor: Int32, _ token: UInt64) throws(BenchError) {
    do throws(LedgerError) {
      try epoll.add(descriptor, token: token, .read)
    } catch {
      throw .unmeasurable(error.detail)
    }
  }

  private mutating func run() throws(BenchError) {
    start = Clock.monotonicNanoseconds()
    try pacer?.start(at: start)
    defer { pacer?.stop() }
    for token in connections.indices { try begin(token) }
    while answered < requests.count {
      let count = epoll.wait(milliseconds: Self.answerTimeout)
      guard count > 0 || errno == EINTR else {
        throw .unmeasurable("no answer for \(Self.answerTimeout / 1000) seconds")
      }
      for index in 0..<count { try handle(epoll.event(at: index)) }
    }
    report.seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    report.latencies.sort()
  }

  /// Starts the next request on a connection, if there is one and it is due.
  ///
  /// The latency of a paced request counts from its due time: while it waits for a connection or
  /// for this thread, its client would wait too.
  private mutating func begin(_ token: Int) throws(BenchError) {
    guard next < requests.count else { return }
    let now = Clock.monotonicNanoseconds()
    let due = pacer.map { start + $0.due[next] } ?? now
    guard due <= now else { return idle.append(token) }
    let connection = connections[token]
    try requests.write(next, to: &connection.request)
    connection.sent = 0
    connection.start = due
    next += 1
    try send(token)
  }

  /// Sends as much as possible, and waits for free send buffer if that is not all.
  private mutating func send(_ token: Int) throws(BenchError) {
    let connection = connections[token]
    let wasBlocked = connection.isBlocked
    connection.isBlocked = try connection.send()
    guard connection.isBlocked != wasBlocked else { return }
    epoll.change(
      connection.socket.descriptor, token: UInt64(token), connection.isBlocked ? .write : .read)
  }

  private mutating func handle(_ event: Epoll.Event) throws(BenchError) {
    guard event.token != Self.wakeupToken else { return try beginDue() }
    let token = Int(event.token)
    let connection = connections[token]
    if event.broken { throw .unmeasurable("the daemon closed a connection") }
    if event.writable && connection.isBlocked { try send(token) }
    guard event.readable, let answer = try connection.receive(&buffer, marker: marker) else {
      return
    }
    count(answer, after: Clock.monotonicNanoseconds() - connection.start)
    try begin(token)
  }

  /// Starts the requests that are due, as far as there are idle connections.
  private mutating func beginDue() throws(BenchError) {
    pacer?.wakeup.clear()
    for _ in idle.indices {
      let token = idle.removeFirst()
      try begin(token)
      // It was not due yet, so none after it is.
      if idle.last == token { return }
    }
  }

  private mutating func count(_ answer: LoadConnection.Answer, after nanoseconds: Int64) {
    answered += 1
    report.latencies.append(nanoseconds)
    if answer.status == 200 && answer.hasMarker {
      report.good += 1
    } else {
      report.others[answer.status, default: 0] += 1
    }
  }
}
