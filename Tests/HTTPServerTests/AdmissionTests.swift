import HTTPServer
import Synchronization
import Testing

/// What a handler finds in a head comes back to it with the whole request.
@Suite(.serialized) struct AdmissionTests {
  @Test func `a request is admitted once and its handler gets back what was found`() throws {
    let echoes = try EchoServer(reactors: 1)
    let client = echoes.client()
    client.write(
      echo("one", path: "/context") + echo("two", path: "/context/queued")
        + echo("three", path: "/context"))
    for byte in echo("four", path: "/context").utf8 { client.write([byte]) }
    #expect(client.response()?.body == "/context 1")
    #expect(client.response()?.body == "/context/queued 2")
    #expect(client.response()?.body == "/context 3")
    #expect(client.response()?.body == "/context 4")
    #expect(echoes.log.admitted.load(ordering: .relaxed) == 4)
    #expect(echoes.log.served.load(ordering: .relaxed) == 4)
    echoes.server.drain(within: 5)
  }

  @Test func `what was found stays with its connection while others are served`() throws {
    let echoes = try EchoServer(reactors: 1)
    let request = echo("body", path: "/context")
    let slow = echoes.client()
    slow.write(String(request.dropLast(1)))
    // The head of the slow request must be admitted before those of the others.
    let quick = echoes.client()
    while echoes.log.admitted.load(ordering: .relaxed) == 0 {
      quick.write("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(quick.response()?.status == 404)
    }
    quick.write(request + echo("body", path: "/context/queued"))
    #expect(quick.response()?.body == "/context 2")
    #expect(quick.response()?.body == "/context/queued 3")
    slow.write(String(request.suffix(1)))
    #expect(slow.response()?.body == "/context 1")
    echoes.server.drain(within: 5)
  }
}
