import HTTPServer
import Synchronization
import Testing

/// More work than there is time for: requests over capacity are refused at once, admitted ones are
/// answered.
@Suite(.serialized) struct OverloadTests {
  @Test func `the queue admits more items when they are processed faster`() {
    var queue = AdmissionQueue<Int>(byteCapacity: 1000, targetDelay: 400_000)
    for _ in 0..<500 { queue.recordService(count: 3, nanoseconds: 120_000) }
    // An average of integers stops a little above its limit.
    let admitted = (0..<100).prefix { queue.enqueue($0, bytes: 1, at: 0) }.count
    #expect((7...11).contains(admitted))
    for item in 0..<admitted {
      let next = queue.dequeue(at: 10)
      #expect(next?.item == item && next?.isLate == false)
    }
    #expect(queue.isEmpty && queue.dequeue(at: 10) == nil)
    for _ in 0..<500 { queue.recordService(count: 1, nanoseconds: 4_000) }
    let more = (0..<1000).prefix { queue.enqueue($0, bytes: 1, at: 0) }.count
    #expect(more > 19)
  }

  @Test func `an empty queue always admits an item`() {
    var queue = AdmissionQueue<String>(byteCapacity: 1, targetDelay: 1)
    for _ in 0..<500 { queue.recordService(count: 1, nanoseconds: 1_000_000_000) }
    #expect(queue.enqueue("first", bytes: 1000, at: 0) == true)
    #expect(queue.enqueue("second", bytes: 0, at: 0) == false)
    #expect(queue.dequeue(at: 0)?.item == "first")
    #expect(queue.enqueue("third", bytes: 1000, at: 0) == true)
  }

  @Test func `the byte capacity holds for all waiting items together`() {
    var queue = AdmissionQueue<Int>(byteCapacity: 100, targetDelay: 1_000_000_000_000)
    #expect(queue.enqueue(1, bytes: 60, at: 0) == true)
    #expect(queue.enqueue(2, bytes: 41, at: 0) == false)
    #expect(queue.enqueue(3, bytes: 40, at: 0) == true)
    #expect(queue.dequeue(at: 0)?.item == 1)
    #expect(queue.enqueue(4, bytes: 60, at: 0) == true)
    #expect(queue.count == 2)
    #expect(queue.dequeue(at: 0)?.item == 3 && queue.dequeue(at: 0)?.item == 4)
  }

  @Test func `an item that waited too long is late unless few wait behind it`() {
    var queue = AdmissionQueue<Int>(byteCapacity: 100, targetDelay: 100_000_000)
    for item in 0..<60 { _ = queue.enqueue(item, bytes: 0, at: Int64(item)) }
    #expect(queue.count == 60)
    #expect(queue.dequeue(at: 200_000_000)?.isLate == false)
    for _ in 0..<33 { #expect(queue.dequeue(at: 300_000_000)?.isLate == true) }
    // The remaining ones are few, so each of them is started.
    for _ in 0..<26 { #expect(queue.dequeue(at: 300_000_000)?.isLate == false) }
    #expect(queue.isEmpty)
  }

  @Test func `one slow item does not close the queue`() {
    var queue = AdmissionQueue<Int>(byteCapacity: 100, targetDelay: 400_000_000)
    for _ in 0..<500 { queue.recordService(count: 1, nanoseconds: 400_000) }
    queue.recordService(count: 1, nanoseconds: 5_000_000_000)
    for item in 0..<64 { _ = queue.enqueue(item, bytes: 0, at: 0) }
    #expect(queue.count == 64)
  }

  /// Sixty requests of 20 ms each with a target delay of 0.1 s: each is answered or refused, and
  /// afterwards the connections work as before.
  @Test func `requests above capacity get 503 at once and the others are answered`() throws {
    let echoes = try EchoServer(reactors: 1) {
      $0.limits.queueDelaySeconds = 0.1
      $0.limits.minimumQueueDepth = 1
    }
    let clients = (0..<60).map { _ in echoes.client() }
    for round in 0..<2 {
      for client in clients { client.write(echo("x", path: "/work")) }
      let responses = clients.compactMap { $0.response() }
      let refused = responses.filter { $0.status == 503 }
      #expect(responses.count == 60, "round \(round)")
      #expect(responses.contains { $0.status == 200 && $0.body == "x" })
      #expect(!refused.isEmpty && responses.allSatisfy { [200, 503].contains($0.status) })
      #expect(refused.allSatisfy { $0.head.contains("Retry-After: ") })
      #expect(refused.allSatisfy { !$0.head.contains("Connection: close") })
    }
    for client in clients {
      client.write(echo("after it", path: "/work"))
      #expect(client.response()?.body == "after it")
    }
    echoes.server.drain(within: 60)
    #expect(echoes.log.open.load(ordering: .relaxed) == 0)
  }

  @Test func `requests that are not queued do not wait behind queued work`() throws {
    let echoes = try EchoServer(reactors: 1) { $0.limits.queueDelaySeconds = 60 }
    let clients = (0..<20).map { _ in echoes.client() }
    let quick = echoes.client()
    clients[0].write(echo("gate", path: "/gate"))
    for client in clients.dropFirst() { client.write(echo("long", path: "/work")) }
    quick.write(echo("quick"))
    echoes.log.isGateOpen.store(true, ordering: .relaxed)
    #expect(quick.response()?.body == "quick")
    for client in clients { #expect(client.response()?.status == 200) }
    #expect(echoes.log.bodies.withLock { $0.firstIndex(of: "quick") } ?? 20 < 10)
    echoes.server.drain(within: 5)
  }

  @Test func `queued requests of closed connections are not processed`() throws {
    let echoes = try EchoServer(reactors: 1) { $0.limits.queueDelaySeconds = 60 }
    let clients = (0..<40).map { _ in echoes.client() }
    for client in clients { client.write(echo("x", path: "/work")) }
    for client in clients.dropFirst() { client.reset() }
    #expect(clients[0].response()?.body == "x")
    clients[0].write(echo("y", path: "/work"))
    #expect(clients[0].response()?.body == "y")
    #expect(echoes.log.served.load(ordering: .relaxed) <= 41)
    // Without this, the clients would be closed after their last use.
    withExtendedLifetime(clients) {
      #expect(echoes.log.open.load(ordering: .relaxed) == 1)
    }
    echoes.server.drain(within: 5)
  }
}
