import Foundation
import Glibc
import Support
import Testing

/// What systemd is told: ready, reloading, alive, stopping, over the socket it names.
@Suite struct ServiceNoticeTests {
  /// The receiving end of NOTIFY_SOCKET.
  private final class Manager {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    private(set) var said: [String] = []

    /// - Parameter name: a path, or `@` and a name that is in no folder.
    init(_ name: String) throws {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { room in
        room.copyBytes(from: Array(name.utf8))
        if name.hasPrefix("@") { room[0] = 0 }
      }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
      let code = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
      }
      guard code == 0 else { throw Trouble("bind: \(errno)") }
    }

    deinit { close(descriptor) }

    func listen() -> [String] {
      var room = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &room, room.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return said }
        said.append(String(decoding: room[..<count], as: UTF8.self))
      }
    }
  }

  @Test(arguments: [true, false])
  func isToldEverything(isAbstract: Bool) throws {
    let installation = try Installation()
    let name =
      isAbstract ? "@subledger-\(UUID())" : "/tmp/slm-\(UUID().uuidString.prefix(8)).sock"
    defer { unlink(name) }
    let manager = try Manager(name)
    installation.environment["NOTIFY_SOCKET"] = name
    let daemon = try installation.startWithoutRows()
    try daemon.command.wait(20, "READY") { manager.listen().contains("READY=1") }
    try daemon.command.wait(20, "WATCHDOG") {
      manager.listen().filter { $0 == "WATCHDOG=1" }.count >= 2
    }
    daemon.command.signal(SIGHUP)
    try daemon.command.wait(20, "the reload") {
      manager.listen().filter { $0 == "READY=1" }.count == 2
    }
    let reloading = manager.said.firstIndex { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") }
    let ready = manager.said.lastIndex(of: "READY=1")
    #expect(try #require(reloading) < #require(ready))
    #expect(!manager.said.contains("STOPPING=1"))
    #expect(try daemon.stop().code == 0)
    #expect(manager.listen().contains("STOPPING=1"))
  }

  /// A name that leads nowhere is no reason not to run.
  @Test(arguments: ["/nowhere/at/all", "vsock:2:1234", "", String(repeating: "/x", count: 200)])
  func runsWithoutOne(_ name: String) throws {
    let installation = try Installation()
    installation.environment["NOTIFY_SOCKET"] = name
    let daemon = try installation.startWithoutRows()
    #expect(try daemon.stop().code == 0)
  }
}
