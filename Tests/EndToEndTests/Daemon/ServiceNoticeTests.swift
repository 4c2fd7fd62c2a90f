import Foundation
import Glibc
import Support
import Testing

/// What the daemon tells systemd over its socket: ready, reloading, alive, stopping.
@Suite struct ServiceNoticeTests {
  /// The receiving end of NOTIFY_SOCKET.
  private final class Manager {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    private(set) var messages: [String] = []

    /// - Parameter name: a path, or `@` and an abstract name (unix(7)).
    init(_ name: String) throws {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { buffer in
        buffer.copyBytes(from: Array(name.utf8))
        if name.hasPrefix("@") { buffer[0] = 0 }
      }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
      guard code == 0 else { throw TestFailure("bind: \(errno)") }
    }

    deinit { close(descriptor) }

    func listen() -> [String] {
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return messages }
        messages.append(String(decoding: buffer[..<count], as: UTF8.self))
      }
    }
  }

  @Test(arguments: [true, false])
  func `the service manager is told about ready, reload, watchdog and stop`(isAbstract: Bool) throws
  {
    let installation = try Installation()
    let name =
      isAbstract ? "@subledger-\(UUID())" : "/tmp/slm-\(UUID().uuidString.prefix(8)).sock"
    defer { unlink(name) }
    let manager = try Manager(name)
    installation.environment["NOTIFY_SOCKET"] = name
    let daemon = try installation.startWithoutProjection()
    try daemon.command.wait(60, "READY") { manager.listen().contains("READY=1") }
    try daemon.command.wait(60, "WATCHDOG") {
      manager.listen().filter { $0 == "WATCHDOG=1" }.count >= 2
    }
    daemon.command.signal(SIGHUP)
    try daemon.command.wait(60, "the reload") {
      manager.listen().filter { $0 == "READY=1" }.count == 2
    }
    let reloading = manager.messages.firstIndex { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") }
    let ready = manager.messages.lastIndex(of: "READY=1")
    #expect(try #require(reloading) < #require(ready))
    #expect(!manager.messages.contains("STOPPING=1"))
    #expect(try daemon.stop().code == 0)
    #expect(manager.listen().contains("STOPPING=1"))
  }

  /// Names of sockets that do not exist or cannot be used.
  @Test(arguments: ["/nowhere/at/all", "vsock:2:1234", "", String(repeating: "/x", count: 200)])
  func `an unusable notify socket does not stop the daemon`(_ name: String) throws {
    let installation = try Installation()
    installation.environment["NOTIFY_SOCKET"] = name
    let daemon = try installation.startWithoutProjection()
    #expect(try daemon.stop().code == 0)
  }
}
