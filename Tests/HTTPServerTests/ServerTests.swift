import Glibc
import HTTPServer
import Platform
import Synchronization
import Testing

/// The server on real sockets.
@Suite(.serialized) struct ServerTests {
  @Test func `connections are kept alive and pipelined requests are answered in order`() throws {
    let echoes = try EchoServer()
    let client = echoes.client()
    client.write(echo("one"))
    #expect(client.response()?.body == "one")
    client.write(echo("two", path: "/later") + echo("three") + echo("four", path: "/later"))
    client.write("HEAD /echo HTTP/1.1\r\nHost: h\r\n\r\n" + echo("five"))
    #expect(client.response()?.body == "two")
    #expect(client.response()?.body == "three")
    #expect(client.response()?.body == "four")
    #expect(client.response(toHead: true)?.status == 200)
    #expect(client.response()?.body == "five")
    echoes.server.drain(within: 60)
    #expect(client.isClosed(within: 30))
    #expect(echoes.log.open.load(ordering: .relaxed) == 0)
    #expect(echoes.log.refusals.withLock { $0 } == [])
  }

  @Test func `thousands of pipelined requests are all answered`() throws {
    let echoes = try EchoServer(reactors: 1)
    let client = echoes.client()
    let sender = try Thread.start("sender") { [descriptor = client.descriptor] in
      let text = Array((0..<5000).map { echo("n\($0)") }.joined().utf8)
      var sent = 0
      while sent < text.count {
        let rest = Array(text[sent..<min(sent + 9999, text.count)])
        let count = send(descriptor, rest, rest.count, Int32(MSG_NOSIGNAL))
        if count <= 0 { return }
        sent += count
      }
    }
    var wrong = 0
    for number in 0..<5000 where client.response()?.body != "n\(number)" { wrong += 1 }
    sender.join()
    #expect(wrong == 0)
    echoes.server.drain(within: 5)
  }

  @Test func `a body that arrives byte by byte is read`() throws {
    let echoes = try EchoServer(reactors: 1)
    let client = echoes.client()
    for byte in echo("slow but steady").utf8 { client.write([byte]) }
    #expect(client.response()?.body == "slow but steady")
    echoes.server.drain(within: 5)
  }

  @Test func `a refused request closes the connection and what follows is not read`() throws {
    let echoes = try EchoServer()
    for (text, status) in [
      ("GET / HTTP/1.1\n\n", 400), ("POST /echo HTTP/1.1\r\nHost: h\r\n\r\n", 411),
      ("GET / HTTP/1.2\r\n\r\n", 505),
      (echo("", headers: "Expect: no\r\n"), 417),
      ("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1048577\r\n\r\n", 413),
      (
        "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n",
        413
      ),
      (echo("body", path: "/missing"), 404),
    ] {
      let client = echoes.client()
      client.write(text + echo("not read"))
      let response = client.response()
      #expect(response?.status == status)
      #expect(response?.head.contains("Connection: close") == true)
      client.finishSending()
      #expect(client.isClosed(within: 30))
    }
    #expect(echoes.log.refusals.withLock { $0.sorted() } == [400, 411, 413, 413, 417, 505])
    #expect(echoes.log.served.load(ordering: .relaxed) == 0)
    echoes.server.drain(within: 5)
  }

  @Test func `a refused request without a body keeps the connection`() throws {
    let echoes = try EchoServer()
    let client = echoes.client()
    client.write("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n" + echo("next"))
    #expect(client.response()?.status == 404)
    #expect(client.response()?.body == "next")
    echoes.server.drain(within: 5)
  }

  @Test func `an expectation of 100-continue gets 100 Continue`() throws {
    let echoes = try EchoServer()
    let client = echoes.client()
    client.write(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(client.response()?.status == 100)
    client.write("ok")
    #expect(client.response()?.body == "ok")
    echoes.server.drain(within: 5)
  }

  @Test func `HTTP 1.0, as nginx uses it, and Connection close end the connection`() throws {
    let echoes = try EchoServer()
    for text in [
      "POST /echo HTTP/1.0\r\nHost: h\r\nContent-Length: 2\r\n\r\nok",
      echo("ok", headers: "Connection: close\r\n"),
    ] {
      let client = echoes.client()
      client.write(text)
      let response = client.response()
      #expect(response?.body == "ok")
      #expect(response?.head.contains("Connection: close") == true)
      #expect(client.isClosed(within: 30))
    }
    echoes.server.drain(within: 5)
  }

  @Test func `a half-closed client gets its response`() throws {
    let echoes = try EchoServer()
    for path in ["/echo", "/later"] {
      let client = echoes.client()
      client.write(echo("half", path: path))
      client.finishSending()
      #expect(client.response()?.body == "half")
      #expect(client.isClosed(within: 30))
    }
    echoes.server.drain(within: 5)
  }

  @Test func `H27, H32: ends and resets at every stage leave no connection open`() throws {
    let echoes = try EchoServer()
    let whole = Array(echo("hello", path: "/later").utf8)
    for length in Array(stride(from: 0, to: whole.count, by: 3)) + [whole.count] {
      let early = echoes.client()
      early.write(Array(whole.prefix(length)))
      early.reset()
      let finished = echoes.client()
      finished.write(Array(whole.prefix(length)))
      finished.finishSending()
      if length < whole.count { #expect(finished.response() == nil) }
    }
    let after = echoes.client()
    after.write(echo("alive"))
    #expect(after.response()?.body == "alive")
    echoes.server.drain(within: 60)
    #expect(echoes.log.open.load(ordering: .relaxed) == 0)
  }

  @Test func `connections that clients end inside a request are counted as cut`() throws {
    let echoes = try EchoServer()
    let whole = echoes.client()
    whole.write(echo("whole"))
    #expect(whole.response()?.body == "whole")
    whole.reset()
    let idle = echoes.client()
    idle.finishSending()
    #expect(idle.isClosed(within: 30))
    for text in ["G", String(echo("hello").dropLast(1))] {
      let finished = echoes.client()
      finished.write(text)
      finished.finishSending()
      #expect(finished.isClosed(within: 30))
    }
    let waiting = echoes.client()
    waiting.write(echo("", path: "/never"))
    for _ in 0..<6000 where echoes.log.served.load(ordering: .relaxed) < 2 { usleep(10_000) }
    waiting.reset()
    for _ in 0..<6000 where echoes.log.open.load(ordering: .relaxed) > 0 { usleep(10_000) }
    #expect(echoes.log.cut.load(ordering: .relaxed) == 3)
    echoes.server.drain(within: 5)
  }

  @Test func `a large response reaches a slow reader and delays no other client`() throws {
    let echoes = try EchoServer()
    let client = RawClient(port: echoes.server.port, receiveBuffer: 4096)
    client.write("GET /large HTTP/1.1\r\nHost: h\r\n\r\n" + echo("after"))
    usleep(100_000)
    let other = echoes.client()
    other.write(echo("meanwhile"))
    #expect(other.response()?.body == "meanwhile")
    #expect(client.response()?.body.utf8.count == 8 << 20)
    #expect(client.response()?.body == "after")
    echoes.server.drain(within: 5)
  }

  @Test func `the error names a port in use and a malformed address`() throws {
    let echoes = try EchoServer()
    let listen = "127.0.0.1:\(echoes.server.port)"
    let error = #expect(throws: HTTPServerError.self) {
      try HTTPServer.start(ServerConfiguration(listen: listen)) { EchoHandler(EchoLog()) }
    }
    #expect(error?.description.contains(listen) == true)
    for text in ["", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "::1:80", "name:80", "[x]:1"] {
      let error = #expect(throws: HTTPServerError.self) {
        try HTTPServer.start(ServerConfiguration(listen: text)) { EchoHandler(EchoLog()) }
      }
      #expect(error?.description.contains("HOST:PORT") == true)
    }
    echoes.server.drain(within: 5)
    // The port is free again.
    let again = try EchoServer { $0.listen = listen }
    again.server.drain(within: 5)
  }

  @Test func `a handler that cannot be made ends the start`() throws {
    struct HandlerError: Error {}
    let error = #expect(throws: HTTPServerError.self) {
      try HTTPServer.start(ServerConfiguration(listen: "[::1]:0")) { () throws -> EchoHandler in
        throw HandlerError()
      }
    }
    if case .handler = error {} else { Issue.record("\(String(describing: error))") }
  }

  @Test func `the unix socket is served and has mode 0600`() throws {
    let path = "/tmp/subledger-http-\(getpid()).sock"
    unlink(path)
    let echoes = try EchoServer(socketPath: path)
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    let client = RawClient(path: path)
    client.write(echo("here"))
    let response = client.response()
    #expect(response?.body == "here")
    #expect(response?.head.contains("X-Peer: local") == true)
    #expect(throws: HTTPServerError.self) { try EchoServer(socketPath: path) }
    echoes.server.drain(within: 5)
    #expect(stat(path, &status) != 0)
  }
}
