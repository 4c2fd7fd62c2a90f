import Glibc
import HTTPServer
import Platform
import Synchronization
import Testing

/// Deadlines, limits and the end of the server, on real sockets.
@Suite(.serialized) struct LimitTests {
  private func seconds(_ work: () -> Void) -> Double {
    let start = Clock.monotonicNanoseconds()
    work()
    return Double(Clock.monotonicNanoseconds() - start) / 1e9
  }

  @Test(arguments: ["G", "GET / HTTP/1.1\r\nHost: h\r\n", String(echo("hello").dropLast(1))])
  func `H28: a request that stays incomplete gets 408 at its deadline`(_ text: String) throws {
    let isBody = text.contains("POST")
    let echoes = try EchoServer {
      $0.limits.headerSeconds = isBody ? 600 : 0.5
      $0.limits.bodySeconds = isBody ? 0.5 : 600
      $0.limits.idleSeconds = 600
    }
    let client = echoes.client()
    client.write(text)
    let time = seconds {
      let response = client.response()
      #expect(response?.status == 408)
      #expect(response?.body == "{\"status\":408}")
    }
    #expect(time > 0.4)
    client.finishSending()
    #expect(client.isClosed(within: 60))
    #expect(echoes.log.refusals.withLock { $0 } == [408])
    echoes.server.drain(within: 5)
  }

  @Test func `H28: sending byte by byte does not extend a deadline`() throws {
    let echoes = try EchoServer { $0.limits.headerSeconds = 1 }
    let client = echoes.client()
    client.write(echo("first"))
    #expect(client.response()?.body == "first")
    for byte in "GET / HTTP/1.1\r\n".utf8.prefix(9) {
      client.write([byte])
      usleep(150_000)
    }
    #expect(client.response()?.status == 408)
    echoes.server.drain(within: 5)
  }

  @Test func `a client that ends while it waits is noticed, and answered if it reads`() throws {
    let echoes = try EchoServer()
    for behind in ["", echo("behind")] {
      let client = echoes.client()
      let served = echoes.log.served.load(ordering: .relaxed)
      client.write(echo("first", path: "/until-end") + behind)
      echoes.log.wait { $0.served.load(ordering: .relaxed) > served }
      usleep(50_000)
      #expect(echoes.log.ended.load(ordering: .relaxed) == 0)
      client.finishSending()
      #expect(client.response()?.body == "ended")
      #expect(client.response()?.body == (behind.isEmpty ? nil : "behind"))
      echoes.log.ended.store(0, ordering: .relaxed)
    }
    for isReset in [false, true] {
      let client = echoes.client()
      let served = echoes.log.served.load(ordering: .relaxed)
      client.write(echo("first", path: "/until-end"))
      echoes.log.wait { $0.served.load(ordering: .relaxed) > served }
      if isReset { client.reset() } else { client.leave() }
    }
    echoes.log.wait { $0.ended.load(ordering: .relaxed) == 2 }
    #expect(echoes.log.ended.load(ordering: .relaxed) == 2)
    echoes.server.drain(within: 5)
  }

  @Test func `silent connections are closed without a response`() throws {
    let echoes = try EchoServer {
      $0.limits.headerSeconds = 0.5
      $0.limits.idleSeconds = 0.5
    }
    let silent = echoes.client()
    var time = seconds { #expect(silent.response() == nil) }
    #expect(time < 50)
    let idle = echoes.client()
    idle.write(echo("one"))
    #expect(idle.response()?.body == "one")
    time = seconds { #expect(idle.response() == nil) }
    #expect(time < 50)
    #expect(echoes.log.refusals.withLock { $0 } == [])
    echoes.server.drain(within: 5)
  }

  @Test func `a response that never comes is replaced by 503`() throws {
    let echoes = try EchoServer { $0.limits.answerSeconds = 0.3 }
    let client = echoes.client()
    client.write(echo("", path: "/never"))
    let response = client.response()
    #expect(response?.status == 503)
    #expect(response?.head.contains("Retry-After: ") == true)
    echoes.server.drain(within: 5)
  }

  @Test func `a client that never reads is disconnected`() throws {
    let echoes = try EchoServer {
      $0.limits.writeSeconds = 0.5
      $0.limits.idleSeconds = 600
    }
    let client = RawClient(port: echoes.server.port, receiveBuffer: 4096)
    client.write("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
    // Without this, this end would be closed after its last use.
    withExtendedLifetime(client) {
      echoes.log.wait { $0.open.load(ordering: .relaxed) == 0 }
      #expect(echoes.log.open.load(ordering: .relaxed) == 0)
    }
    echoes.server.drain(within: 5)
  }

  @Test func `H33: a connection over the limit gets 503 and the next one is served`() throws {
    let echoes = try EchoServer { $0.limits.connections = 3 }
    let clients = (0..<3).map { _ in echoes.client() }
    for client in clients {
      client.write(echo("in"))
      #expect(client.response()?.body == "in")
    }
    let over = echoes.client()
    let response = over.response()
    #expect(response?.status == 503)
    #expect(response?.head.contains("Retry-After: ") == true)
    #expect(response?.head.contains("Connection: close") == true)
    let open = echoes.log.open.load(ordering: .relaxed)
    clients[0].reset()
    echoes.log.wait { $0.open.load(ordering: .relaxed) < open }
    let next = echoes.client()
    next.write(echo("accepted again"))
    #expect(next.response()?.body == "accepted again")
    #expect(echoes.log.refusals.withLock { $0 } == [503])
    echoes.server.drain(within: 5)
  }

  @Test(arguments: [true, false])
  func `H33: an address over its limit gets 503 unless it is a trusted proxy`(_ isTrusted: Bool)
    throws
  {
    let echoes = try EchoServer {
      $0.limits.connectionsPerAddress = 2
      $0.trustedProxies = isTrusted ? ["::ffff:127.0.0.1"] : ["10.0.0.1", "::1"]
    }
    let clients = (0..<3).map { _ in echoes.client() }
    for client in clients { client.write(echo("in")) }
    // Which of them is over the limit depends on which reactor accepts first.
    let statuses = clients.map { $0.response()?.status ?? 0 }.sorted()
    #expect(statuses == (isTrusted ? [200, 200, 200] : [200, 200, 503]))
    echoes.server.drain(within: 5)
  }

  @Test func `draining answers the requests in flight`() throws {
    let echoes = try EchoServer()
    let idle = echoes.client()
    idle.write(echo("one"))
    #expect(idle.response()?.body == "one")
    let busy = echoes.client()
    busy.write(echo("in flight", path: "/when-open") + echo("behind"))
    echoes.log.wait { $0.served.load(ordering: .relaxed) == 2 }
    let admitted = echoes.log.admitted.load(ordering: .relaxed)
    let partial = echoes.client()
    partial.write(String(echo("partial").dropLast(1)))
    echoes.log.wait { $0.admitted.load(ordering: .relaxed) > admitted }
    let drain = try Thread.start("drain") { [server = echoes.server] in server.drain(within: 60) }
    // Until the listener is closed.
    for _ in 0..<10_000 {
      let early = echoes.client()
      early.write(echo("early"))
      guard early.response() != nil else { break }
    }
    echoes.log.isGateOpen.store(true, ordering: .relaxed)
    partial.write("l")
    let response = busy.response()
    #expect(response?.body == "in flight")
    #expect(response?.head.contains("Connection: close") == true)
    #expect(partial.response()?.body == "partial")
    #expect(idle.isClosed(within: 60))
    let late = echoes.client()
    late.write(echo("late"))
    #expect(late.response() == nil)
    busy.finishSending()
    partial.finishSending()
    drain.join()
    echoes.server.join()
    #expect(echoes.log.open.load(ordering: .relaxed) == 0)
  }

  @Test func `draining ends in time even if a response never comes`() throws {
    let echoes = try EchoServer { $0.limits.answerSeconds = 600 }
    let client = echoes.client()
    client.write(echo("", path: "/never"))
    echoes.log.wait { $0.served.load(ordering: .relaxed) == 1 }
    #expect(seconds { echoes.server.drain(within: 0.5) } < 50)
    #expect(client.isClosed(within: 60))
  }

  @Test func `connections to several reactors are all served`() throws {
    let echoes = try EchoServer(reactors: 4)
    let clients = (0..<40).map { _ in echoes.client() }
    for client in clients { client.write(echo("x")) }
    #expect(clients.allSatisfy { $0.response()?.body == "x" })
    echoes.server.drain(within: 5)
  }
}
