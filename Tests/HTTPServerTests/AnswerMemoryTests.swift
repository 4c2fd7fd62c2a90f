import Glibc
import HTTPServer
import Synchronization
import Testing

/// The memory of answers that clients ask for and do not read.
@Suite(.serialized) struct AnswerMemoryTests {
  /// Clients that have asked for 8 MiB each and read nothing.
  private func unread(_ echoes: EchoServer, _ count: Int) -> [RawClient] {
    (0..<count).map { _ in
      let client = echoes.client()
      client.write(echo("", path: "/large"))
      return client
    }
  }

  private func waitForCuts(_ echoes: EchoServer, _ count: Int) {
    for _ in 0..<6000 where echoes.log.cut.load(ordering: .relaxed) < count { usleep(10_000) }
  }

  private func server(_ reactors: Int) throws -> EchoServer {
    try EchoServer(reactors: reactors) {
      $0.limits.unsentAnswerBytes = 20_000_000
      $0.limits.writeSeconds = 600
    }
  }

  @Test(arguments: [1, 2])
  func `unread answers over the shared limit end their connections until the rest fits`(
    _ reactors: Int
  ) throws {
    let echoes = try server(reactors)
    let clients = unread(echoes, 10)
    waitForCuts(echoes, 8)
    // Each reactor ends its own, so that two may end one more than one would.
    let whole = clients.count { $0.response()?.body.utf8.count == 8 << 20 }
    #expect((3 - reactors...2).contains(whole), "the others have their answers whole")
    #expect(echoes.log.cut.load(ordering: .relaxed) == 10 - whole)
    let next = echoes.client()
    next.write(echo("next"))
    #expect(next.response()?.body == "next")
    echoes.server.drain(within: 5)
  }

  @Test func `a client that reads is not cut for those that do not`() throws {
    let echoes = try server(1)
    var unread = unread(echoes, 2)
    for _ in 0..<20 {
      let client = echoes.client()
      client.write(echo("", path: "/large"))
      #expect(client.response()?.body.utf8.count == 8 << 20)
      unread += self.unread(echoes, 1)
    }
    #expect(echoes.log.cut.load(ordering: .relaxed) > 0)
    echoes.server.drain(within: 0)
  }

  @Test func `memory of answers that were read or given up is free for others`() throws {
    let echoes = try server(1)
    for round in 0..<20 {
      let clients = unread(echoes, 2)
      usleep(20_000)
      clients[0].reset()
      #expect(clients[1].response()?.status == 200, "round \(round)")
    }
    #expect(echoes.log.cut.load(ordering: .relaxed) <= 20, "those that were reset")
    echoes.server.drain(within: 5)
  }
}
