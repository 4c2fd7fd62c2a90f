import Foundation
import Platform
import Support
import Testing

/// Sockets that listen.
@Suite struct ListenerTests {
  @Test func `a second listener on the same port is refused`() throws {
    let listener = try Listener.tcp(host: "127.0.0.1", port: 0)
    #expect(listener.port > 0)
    let code = errorCode { () throws(LedgerError) in
      _ = try Listener.tcp(host: "127.0.0.1", port: listener.port)
    }
    #expect(code == EADDRINUSE)
    withExtendedLifetime(listener) {}
  }

  @Test func `a host name is refused`() {
    let code = errorCode { () throws(LedgerError) in
      _ = try Listener.tcp(host: "localhost", port: 0)
    }
    #expect(code == EINVAL)
  }

  @Test func `a second listener on the same unix socket is refused`() throws {
    let scratch = try Scratch()
    let path = scratch.path + "/s"
    do {
      let listener = try Listener.unix(path: path)
      #expect(try FileMode.of(path)?.text == "0600" && listener.port == 0)
      let code = errorCode { () throws(LedgerError) in _ = try Listener.unix(path: path) }
      #expect(code == EADDRINUSE)
      withExtendedLifetime(listener) {}
    }
    #expect(try FileKind.of(path) == nil, "the socket file was not removed")
  }

  @Test func `a file that is no socket is not replaced`() throws {
    let scratch = try Scratch()
    let path = try scratch.write("x", to: "s")
    #expect(
      errorCode { () throws(LedgerError) in _ = try Listener.unix(path: path) } == ENOTSOCK)
    #expect(try DurableFile.size(path) == 1)
    let long = scratch.path + "/" + String(repeating: "s", count: 120)
    #expect(
      errorCode { () throws(LedgerError) in _ = try Listener.unix(path: long) } == ENAMETOOLONG)
  }

  @Test func `nothing is accepted while no connection waits`() throws {
    let listener = try Listener.tcp(host: "127.0.0.1", port: 0)
    guard case .nothing = listener.accept() else {
      Issue.record("a connection was accepted")
      return
    }
  }
}
