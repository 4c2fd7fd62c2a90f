import Glibc
import Platform

/// Sends requests over kept-alive connections, one under way on each: one thread, epoll.
///
/// Either as fast as they are answered, or each when a pacer says so, whatever became of those
/// before it. It shares the machine with what it measures, so it is frugal: requests are made
/// beforehand, and of an answer only status, length and one marker are looked at.
struct LoadGenerator: ~Copyable {
  private let requests: any Requests
  private let pacer: Pacer?
  private let marker: [UInt8]
  private var epoll: Epoll
  /// By token of their events.
  private var connections: [LoadConnection] = []
  /// Connections that wait for a request to fall due, the longest waiting first.
  private var idle: [Int] = []
  private var start: Int64 = 0
  /// Requests begun, and requests answered.
  private var next = 0
  private var answered = 0
  private var report = LoadReport()
  /// All connections receive through it; answers are far shorter.
  private var buffer = [UInt8](repeating: 0, count: 64 * 1024)

  /// Without an answer for so long, in milliseconds, there is nothing to measure.
  private static let patience: Int32 = 30_000
  private static let wakeupToken = UInt64.max

  /// - Parameters:
  ///   - marker: what a good answer contains.
  ///   - pacer: of as many as there are requests; without one a request follows an answer at once.
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
    do throws(PlatformError) {
      epoll = try .open()
    } catch {
      throw .unmeasurable("\(error)")
    }
    report.latencies.reserveCapacity(requests.count)
  }

  /// Connects before the clock starts: kept-alive connections are what is measured.
  private mutating func connect(_ count: Int, _ port: UInt16) throws(BenchError) {
    for token in 0..<count {
      let connection = try LoadConnection.open(port: port)
      try watch(connection.socket.descriptor, UInt64(token))
      connections.append(connection)
    }
    if let pacer { try watch(pacer.bell.descriptor, Self.wakeupToken) }
  }

  private func watch(_ descriptor: Int32, _ token: UInt64) throws(BenchError) {
    do throws(PlatformError) {
      try epoll.add(descriptor, token: token, .read)
    } catch {
      throw .unmeasurable("\(error)")
    }
  }

  private mutating func run() throws(BenchError) {
    start = Clock.monotonicNanoseconds()
    try pacer?.start(at: start)
    defer { pacer?.stop() }
    for token in connections.indices { try begin(token) }
    while answered < requests.count {
      let count = epoll.wait(milliseconds: Self.patience)
      guard count > 0 || errno == EINTR else {
        throw .unmeasurable("no answer for \(Self.patience / 1000) seconds")
      }
      for place in 0..<count { try react(to: epoll.event(at: place)) }
    }
    report.seconds = Double(Clock.monotonicNanoseconds() - start) / 1e9
    report.latencies.sort()
  }

  /// Starts the next request on a connection, if there is one and it is due.
  ///
  /// A paced one is as old as its due time says: while it waits for a connection, or for this
  /// thread, its customer waits too.
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

  /// Sends what the kernel takes, and watches for room where it does not take all.
  private mutating func send(_ token: Int) throws(BenchError) {
    let connection = connections[token]
    let wasBlocked = connection.isBlocked
    connection.isBlocked = try connection.send()
    guard connection.isBlocked != wasBlocked else { return }
    epoll.change(
      connection.socket.descriptor, token: UInt64(token), connection.isBlocked ? .write : .read)
  }

  private mutating func react(to event: Epoll.Event) throws(BenchError) {
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

  /// Starts what has fallen due, as far as there are connections.
  private mutating func beginDue() throws(BenchError) {
    pacer?.bell.silence()
    for _ in idle.indices {
      let token = idle.removeFirst()
      try begin(token)
      // Not due yet: so is none behind it.
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
