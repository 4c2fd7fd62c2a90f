import Glibc
import HTTPServer
import Synchronization
import Testing

/// Limits that one client with many connections cannot pass.
@Suite(.serialized) struct BodyMemoryTests {
  private static let size = 100_000

  private func unfinished(_ echoes: EchoServer, _ count: Int) -> [RawClient] {
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: \(Self.size + 1)\r\n\r\n"
    let bytes = Array(head.utf8) + [UInt8](repeating: 0x20, count: Self.size)
    return (0..<count).map { _ in
      let client = echoes.client()
      client.write(bytes)
      return client
    }
  }

  private func waitForRefusals(_ echoes: EchoServer, _ count: Int) {
    for _ in 0..<6000 where echoes.log.refusals.withLock({ $0.count }) < count { usleep(10_000) }
  }

  @Test func `unfinished bodies over the shared limit are refused until the others fit`() throws {
    let echoes = try EchoServer {
      $0.limits.unfinishedBodyBytes = 1_000_000
      $0.limits.bodySeconds = 600
    }
    let clients = unfinished(echoes, 20)
    // Each takes 100,000 bytes and what the array reserves, at most twice as much.
    waitForRefusals(echoes, 10)
    var refused = 0
    for client in clients {
      client.write([0x20])
      let response = client.response()
      if response?.status == 200 { continue }
      refused += 1
      #expect(response?.status == 503)
      #expect(response?.head.contains("Retry-After: ") == true)
      #expect(response?.head.contains("Connection: close") == true)
    }
    #expect((10...16).contains(refused), "\(refused)")
    let next = echoes.client()
    next.write(echo("next"))
    #expect(next.response()?.body == "next")
    echoes.server.drain(within: 5)
  }

  @Test func `the memory of finished, cut and refused bodies is free for others`() throws {
    let echoes = try EchoServer(reactors: 1) {
      $0.limits.unfinishedBodyBytes = 1_000_000
      $0.limits.bodySeconds = 600
    }
    for round in 0..<30 {
      let clients = unfinished(echoes, 3)
      clients[0].write([0x20])
      #expect(clients[0].response()?.status == 200, "round \(round)")
      clients[1].reset()
      clients[2].finishSending()
      #expect(clients[2].isClosed(within: 60))
    }
    #expect(echoes.log.refusals.withLock { $0 } == [])
    echoes.server.drain(within: 5)
  }

  @Test func `a body that arrives faster is not refused for slower ones`() throws {
    let echoes = try EchoServer(reactors: 1) {
      $0.limits.unfinishedBodyBytes = 1_000_000
      $0.limits.bodySeconds = 600
    }
    let slow = unfinished(echoes, 4)
    usleep(1_000_000)
    // The body alone is over the limit unless the slow ones give way.
    let client = echoes.client()
    let head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 450001\r\n\r\n"
    client.write(Array(head.utf8) + [UInt8](repeating: 0x20, count: 450_000))
    waitForRefusals(echoes, 1)
    client.write([0x20])
    #expect(client.response()?.status == 200)
    #expect(slow.contains { $0.response()?.status == 503 })
    echoes.server.drain(within: 5)
  }

  @Test func `places are counted by network`() {
    var limits = ServerLimits()
    limits.connectionsPerAddress = 2
    let limiter = ConnectionLimiter(limits: limits, trusted: ["2001:db8:2::7"])
    func enters(_ address: String) -> Bool { limiter.enter(.address(address)) }
    #expect(enters("2001:db8:1::1") && enters("2001:db8:1::2"))
    #expect(!enters("2001:db8:1::3"), "the same /64")
    #expect(enters("2001:db8:1:1::3"), "another /64")
    #expect(enters("192.0.2.1") && enters("192.0.2.1") && !enters("192.0.2.1"))
    #expect(enters("192.0.2.2"), "another IPv4 address")
    #expect((0..<5).allSatisfy { _ in enters("2001:db8:2::7") }, "a trusted proxy")
    limiter.leave(.address("2001:db8:1::2"))
    #expect(enters("2001:db8:1::3"), "a place was given back")
  }

  @Test func `commands reach the unix socket while clients use all places`() {
    var limits = ServerLimits()
    limits.connections = 2
    let limiter = ConnectionLimiter(limits: limits, trusted: [])
    #expect(limiter.enter(.address("192.0.2.1")) && limiter.enter(.address("192.0.2.2")))
    #expect(!limiter.enter(.address("192.0.2.3")))
    #expect(limiter.enter(.local(user: 0)) && limiter.enter(.local(user: 0)))
    // As many as the descriptors suffice for.
    #expect((0..<100).contains { _ in !limiter.enter(.local(user: 0)) })
  }
}
