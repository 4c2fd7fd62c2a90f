import Glibc

/// Raw sockets: TCP on 127.0.0.1, and unix sockets.
package enum Loopback {
  /// Listens on a free port.
  package static func listen() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = opened()
    var port: UInt16 = 0
    let isBound = withAddress(&port) { address, length in
      bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, 64) == 0
        && getsockname(descriptor, address, &length) == 0
    }
    guard isBound else { throw TestFailure("no port") }
    return (descriptor, port)
  }

  /// Listens on a new unix socket.
  package static func listen(at path: String) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    let isBound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isBound, Glibc.listen(descriptor, 64) == 0 else { throw TestFailure("no socket") }
    return descriptor
  }

  /// Connects to a port; nil if nothing listens there.
  package static func connect(to port: UInt16) -> Int32? {
    let descriptor = opened()
    var port = port
    let isConnected = withAddress(&port) { address, length in
      Glibc.connect(descriptor, address, length) == 0
    }
    guard !isConnected else { return descriptor }
    close(descriptor)
    return nil
  }

  /// Sends all bytes; false if the other end is gone.
  package static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func opened() -> Int32 {
    socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
  }

  private static func withAddress(
    _ port: inout UInt16, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Bool
  ) -> Bool {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = port.bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isDone = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
    port = UInt16(bigEndian: address.sin_port)
    return isDone
  }
}
