import Glibc
import HTTPServer
import Synchronization
import Testing

/// The end of a connection whose request was refused before its body was read: the client must see
/// the status and not a reset.
@Suite(.serialized) struct LingerTests {
  private static let mebibyte = 1024 * 1024

  private func head(_ length: Int, path: String = "/echo") -> [UInt8] {
    Array("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n".utf8)
  }

  private func body(_ length: Int) -> [UInt8] { [UInt8](repeating: 0x20, count: length) }

  private func waitUntilClosed(_ echoes: EchoServer) {
    for _ in 0..<6000 where echoes.log.open.load(ordering: .relaxed) > 0 { usleep(10_000) }
    #expect(echoes.log.open.load(ordering: .relaxed) == 0)
  }

  @Test(arguments: [("/echo", 413), ("/missing", 404)])
  func `a client that sends its whole body before it reads sees the refusal`(
    _ path: String, _ status: Int
  ) throws {
    let echoes = try EchoServer { $0.limits.lingerSeconds = 600 }
    let client = echoes.client()
    let length = 7 * Self.mebibyte
    #expect(client.write(head(length, path: path) + body(length)))
    #expect(client.response()?.status == status)
    #expect(client.endsCleanly())
    client.finishSending()
    waitUntilClosed(echoes)
    echoes.server.drain(within: 5)
  }

  @Test func `a client that ends its stream with the body sees the refusal`() throws {
    let echoes = try EchoServer(reactors: 1) { $0.limits.lingerSeconds = 600 }
    // The reactor is busy until all of it has arrived.
    let gate = echoes.client()
    gate.write(echo("", path: "/gate"))
    // More than the reactor reads before it has sent the refusal.
    let client = RawClient(port: echoes.server.port, sendBuffer: 200 * 1024)
    #expect(client.write(head(3 * Self.mebibyte) + body(200 * 1024)))
    client.finishSending()
    echoes.log.isGateOpen.store(true, ordering: .relaxed)
    #expect(client.response()?.status == 413)
    #expect(client.endsCleanly())
    #expect(gate.response()?.status == 200)
    gate.finishSending()
    waitUntilClosed(echoes)
    echoes.server.drain(within: 5)
  }

  @Test func `a refused client that sends without end is closed after so many bytes`() throws {
    let echoes = try EchoServer {
      $0.limits.lingerSeconds = 600
      $0.limits.lingerBytes = Self.mebibyte
    }
    let client = echoes.client()
    client.write(head(1 << 40))
    let part = body(Self.mebibyte)
    #expect((0..<1000).contains { _ in !client.write(part) })
    waitUntilClosed(echoes)
    echoes.server.drain(within: 5)
  }

  @Test func `a refused client that stays silent or drips gives its place back in time`() throws {
    let echoes = try EchoServer {
      $0.limits.lingerSeconds = 0.3
      $0.limits.connections = 2
    }
    let clients = (0..<2).map { _ in echoes.client() }
    for client in clients {
      client.write(head(1 << 30))
      #expect(client.response()?.status == 413)
    }
    for _ in 0..<6000 where echoes.log.open.load(ordering: .relaxed) > 0 {
      clients[1].write([0x20])
      usleep(10_000)
    }
    waitUntilClosed(echoes)
    withExtendedLifetime(clients) {}
    let next = echoes.client()
    next.write(echo("next"))
    #expect(next.response()?.body == "next")
    echoes.server.drain(within: 5)
  }
}
