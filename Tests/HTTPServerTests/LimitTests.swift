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

  @Test(
    "H28: a request that stays incomplete",
    arguments: ["G", "GET / HTTP/1.1\r\nHost: h\r\n", String(echo("hello").dropLast(1))])
  func incomplete(_ text: String) throws {
    let echoes = try EchoServer {
      $0.limits.headerSeconds = 0.5
      $0.limits.bodySeconds = 0.5
    }
    let caller = echoes.caller()
    caller.say(text)
    let time = seconds {
      let answer = caller.answer()
      #expect(answer?.status == 408)
      #expect(answer?.body == "{\"status\":408}")
    }
    #expect(time > 0.4 && time < 1.2)
    caller.finishSending()
    #expect(caller.isClosed(within: 1))
    #expect(echoes.notes.refusals.withLock { $0 } == [408])
    echoes.server.drain(within: 5)
  }

  @Test("H28: dripping does not extend a deadline")
  func drip() throws {
    let echoes = try EchoServer { $0.limits.headerSeconds = 0.5 }
    let caller = echoes.caller()
    caller.say(echo("first"))
    #expect(caller.answer()?.body == "first")
    for byte in "GET / HTTP/1.1\r\n".utf8.prefix(9) {
      caller.say([byte])
      usleep(100_000)
    }
    #expect(caller.answer()?.status == 408)
    echoes.server.drain(within: 5)
  }

  @Test func silentConnectionsAreClosedWithoutAWord() throws {
    let echoes = try EchoServer {
      $0.limits.headerSeconds = 0.5
      $0.limits.idleSeconds = 0.5
    }
    let silent = echoes.caller()
    #expect(silent.answer() == nil)
    let idle = echoes.caller()
    idle.say(echo("one"))
    #expect(idle.answer()?.body == "one")
    let time = seconds { #expect(idle.answer() == nil) }
    #expect(time < 1.2)
    #expect(echoes.notes.refusals.withLock { $0 } == [])
    echoes.server.drain(within: 5)
  }

  @Test func anAnswerThatNeverComesIs503() throws {
    let echoes = try EchoServer { $0.limits.answerSeconds = 0.3 }
    let caller = echoes.caller()
    caller.say(echo("", path: "/never"))
    let answer = caller.answer()
    #expect(answer?.status == 503)
    #expect(answer?.head.contains("Retry-After: ") == true)
    echoes.server.drain(within: 5)
  }

  @Test func aClientThatNeverReadsIsLetGo() throws {
    let echoes = try EchoServer { $0.limits.writeSeconds = 0.5 }
    let caller = Caller(port: echoes.server.port, receiveBuffer: 4096)
    caller.say("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
    // Or it is closed as soon as it was used last, by this end.
    withExtendedLifetime(caller) {
      for _ in 0..<40 where echoes.notes.open.load(ordering: .relaxed) > 0 {
        usleep(50_000)
      }
      #expect(echoes.notes.open.load(ordering: .relaxed) == 0)
    }
    echoes.server.drain(within: 5)
  }

  @Test("H33: one connection too many")
  func tooMany() throws {
    let echoes = try EchoServer { $0.limits.connections = 3 }
    let callers = (0..<3).map { _ in echoes.caller() }
    for caller in callers {
      caller.say(echo("in"))
      #expect(caller.answer()?.body == "in")
    }
    let over = echoes.caller()
    let answer = over.answer()
    #expect(answer?.status == 503)
    #expect(answer?.head.contains("Retry-After: ") == true)
    #expect(answer?.head.contains("Connection: close") == true)
    callers[0].reset()
    usleep(100_000)
    let next = echoes.caller()
    next.say(echo("room again"))
    #expect(next.answer()?.body == "room again")
    #expect(echoes.notes.refusals.withLock { $0 } == [503])
    echoes.server.drain(within: 5)
  }

  @Test("H33: too many of one address, unless it is a trusted proxy", arguments: [true, false])
  func perAddress(_ isTrusted: Bool) throws {
    let echoes = try EchoServer {
      $0.limits.connectionsPerAddress = 2
      $0.trustedProxies = isTrusted ? ["::ffff:127.0.0.1"] : ["10.0.0.1", "::1"]
    }
    let callers = (0..<3).map { _ in echoes.caller() }
    for caller in callers { caller.say(echo("in")) }
    // Which of them is the one too many depends on which reactor accepts first.
    let statuses = callers.map { $0.answer()?.status ?? 0 }.sorted()
    #expect(statuses == (isTrusted ? [200, 200, 200] : [200, 200, 503]))
    echoes.server.drain(within: 5)
  }

  @Test func drainingFinishesWhatIsInFlight() throws {
    let echoes = try EchoServer()
    let idle = echoes.caller()
    idle.say(echo("one"))
    #expect(idle.answer()?.body == "one")
    let busy = echoes.caller()
    busy.say(echo("in flight", path: "/later") + echo("behind"))
    let partial = echoes.caller()
    partial.say(String(echo("partial").dropLast(1)))
    usleep(50_000)
    let drain = try Thread.start("drain") { [server = echoes.server] in server.drain(within: 5) }
    usleep(50_000)
    partial.say("l")
    let answer = busy.answer()
    #expect(answer?.body == "in flight")
    #expect(answer?.head.contains("Connection: close") == true)
    #expect(partial.answer()?.body == "partial")
    #expect(idle.isClosed(within: 1))
    let late = echoes.caller()
    late.say(echo("late"))
    #expect(late.answer() == nil)
    busy.finishSending()
    partial.finishSending()
    drain.join()
    echoes.server.join()
    #expect(echoes.notes.open.load(ordering: .relaxed) == 0)
  }

  @Test func drainingEndsInTimeWhateverHangs() throws {
    let echoes = try EchoServer()
    let caller = echoes.caller()
    caller.say(echo("", path: "/never"))
    usleep(50_000)
    #expect(seconds { echoes.server.drain(within: 0.5) } < 1.2)
    #expect(caller.isClosed(within: 1))
  }

  @Test func connectionsAreSharedOutEvenly() throws {
    let echoes = try EchoServer(reactors: 4)
    let callers = (0..<40).map { _ in echoes.caller() }
    for caller in callers { caller.say(echo("x")) }
    #expect(callers.allSatisfy { $0.answer()?.body == "x" })
    echoes.server.drain(within: 5)
  }
}
