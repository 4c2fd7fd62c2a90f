import Glibc
import HTTPServer
import Platform
import Synchronization
import Testing

/// The server on real sockets.
@Suite(.serialized) struct ServerTests {
  @Test func keepsAliveAndAnswersInOrder() throws {
    let echoes = try EchoServer()
    let caller = echoes.caller()
    caller.say(echo("one"))
    #expect(caller.answer()?.body == "one")
    caller.say(echo("two", path: "/later") + echo("three") + echo("four", path: "/later"))
    caller.say("HEAD /echo HTTP/1.1\r\nHost: h\r\n\r\n" + echo("five"))
    #expect(caller.answer()?.body == "two")
    #expect(caller.answer()?.body == "three")
    #expect(caller.answer()?.body == "four")
    #expect(caller.answer(toHead: true)?.status == 200)
    #expect(caller.answer()?.body == "five")
    echoes.server.drain(within: 5)
    #expect(caller.isClosed(within: 1))
    #expect(echoes.notes.open.load(ordering: .relaxed) == 0)
    #expect(echoes.notes.refusals.withLock { $0 } == [])
  }

  @Test func answersThousandsOfPipelinedRequests() throws {
    let echoes = try EchoServer(reactors: 1)
    let caller = echoes.caller()
    let sender = try Thread.start("sender") { [descriptor = caller.descriptor] in
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
    for number in 0..<5000 where caller.answer()?.body != "n\(number)" { wrong += 1 }
    sender.join()
    #expect(wrong == 0)
    echoes.server.drain(within: 5)
  }

  @Test func servesABodyByteByByte() throws {
    let echoes = try EchoServer(reactors: 1)
    let caller = echoes.caller()
    for byte in echo("slow but steady").utf8 { caller.say([byte]) }
    #expect(caller.answer()?.body == "slow but steady")
    echoes.server.drain(within: 5)
  }

  @Test func refusesAndCloses() throws {
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
      let caller = echoes.caller()
      caller.say(text + echo("never read"))
      let answer = caller.answer()
      #expect(answer?.status == status)
      #expect(answer?.head.contains("Connection: close") == true)
      caller.finishSending()
      #expect(caller.isClosed(within: 1))
    }
    #expect(echoes.notes.refusals.withLock { $0.sorted() } == [400, 411, 413, 413, 417, 505])
    #expect(echoes.notes.served.load(ordering: .relaxed) == 0)
    echoes.server.drain(within: 5)
  }

  @Test func aRefusedRequestWithoutBodyKeepsTheConnection() throws {
    let echoes = try EchoServer()
    let caller = echoes.caller()
    caller.say("GET /missing HTTP/1.1\r\nHost: h\r\n\r\n" + echo("next"))
    #expect(caller.answer()?.status == 404)
    #expect(caller.answer()?.body == "next")
    echoes.server.drain(within: 5)
  }

  @Test func continuesWhereAsked() throws {
    let echoes = try EchoServer()
    let caller = echoes.caller()
    caller.say(
      "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(caller.answer()?.status == 100)
    caller.say("ok")
    #expect(caller.answer()?.body == "ok")
    echoes.server.drain(within: 5)
  }

  @Test("HTTP/1.0, as nginx speaks it, and Connection: close")
  func closesWhereAsked() throws {
    let echoes = try EchoServer()
    for text in [
      "POST /echo HTTP/1.0\r\nHost: h\r\nContent-Length: 2\r\n\r\nok",
      echo("ok", headers: "Connection: close\r\n"),
    ] {
      let caller = echoes.caller()
      caller.say(text)
      let answer = caller.answer()
      #expect(answer?.body == "ok")
      #expect(answer?.head.contains("Connection: close") == true)
      #expect(caller.isClosed(within: 1))
    }
    echoes.server.drain(within: 5)
  }

  @Test func answersAHalfClosedClient() throws {
    let echoes = try EchoServer()
    for path in ["/echo", "/later"] {
      let caller = echoes.caller()
      caller.say(echo("half", path: path))
      caller.finishSending()
      #expect(caller.answer()?.body == "half")
      #expect(caller.isClosed(within: 1))
    }
    echoes.server.drain(within: 5)
  }

  @Test("H27, H32: ends and resets at every stage leave nothing behind")
  func endsAndResets() throws {
    let echoes = try EchoServer()
    let whole = Array(echo("hello", path: "/later").utf8)
    for length in Array(stride(from: 0, to: whole.count, by: 3)) + [whole.count] {
      let early = echoes.caller()
      early.say(Array(whole.prefix(length)))
      early.reset()
      let ending = echoes.caller()
      ending.say(Array(whole.prefix(length)))
      ending.finishSending()
      if length < whole.count { #expect(ending.answer() == nil) }
    }
    let after = echoes.caller()
    after.say(echo("alive"))
    #expect(after.answer()?.body == "alive")
    echoes.server.drain(within: 5)
    #expect(echoes.notes.open.load(ordering: .relaxed) == 0)
  }

  @Test func sendsALargeAnswerToASlowReader() throws {
    let echoes = try EchoServer()
    let caller = Caller(port: echoes.server.port, receiveBuffer: 4096)
    caller.say("GET /large HTTP/1.1\r\nHost: h\r\n\r\n" + echo("after"))
    usleep(100_000)
    let other = echoes.caller()
    other.say(echo("meanwhile"))
    #expect(other.answer()?.body == "meanwhile")
    #expect(caller.answer()?.body.utf8.count == 8 << 20)
    #expect(caller.answer()?.body == "after")
    echoes.server.drain(within: 5)
  }

  @Test func aBoundPortIsNamed() throws {
    let echoes = try EchoServer()
    let listen = "127.0.0.1:\(echoes.server.port)"
    let error = #expect(throws: HTTPFrontError.self) {
      try HTTPServer.start(ServerConfiguration(listen: listen)) { Echo(Notes()) }
    }
    #expect(error?.description.contains(listen) == true)
    for text in ["", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", "::1:80", "name:80", "[x]:1"] {
      let error = #expect(throws: HTTPFrontError.self) {
        try HTTPServer.start(ServerConfiguration(listen: text)) { Echo(Notes()) }
      }
      #expect(error?.description.contains("HOST:PORT") == true)
    }
    echoes.server.drain(within: 5)
    // The port is free again.
    let again = try EchoServer { $0.listen = listen }
    again.server.drain(within: 5)
  }

  @Test func aHandlerThatCannotBeMadeEndsTheStart() throws {
    struct Broken: Error {}
    let error = #expect(throws: HTTPFrontError.self) {
      try HTTPServer.start(ServerConfiguration(listen: "[::1]:0")) { throw Broken() }
    }
    if case .handler = error {} else { Issue.record("\(String(describing: error))") }
  }

  @Test func servesTheUnixSocket() throws {
    let path = "/tmp/subledger-http-\(getpid()).sock"
    unlink(path)
    let echoes = try EchoServer(socketPath: path)
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    let caller = Caller(path: path)
    caller.say(echo("here"))
    let answer = caller.answer()
    #expect(answer?.body == "here")
    #expect(answer?.head.contains("X-Peer: local") == true)
    #expect(throws: HTTPFrontError.self) { try EchoServer(socketPath: path) }
    echoes.server.drain(within: 5)
    #expect(stat(path, &status) != 0)
  }
}
