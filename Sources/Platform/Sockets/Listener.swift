import CLinux
import Glibc

/// A listening stream socket, TCP or unix. Several threads may accept from it.
public final class Listener: Sendable {
  /// The outcome of `accept`.
  public enum Acceptance: Sendable {
    /// A connected, non-blocking descriptor that the caller now owns. The address is nil for a
    /// unix socket.
    case connection(descriptor: Int32, address: String?)
    /// No connection waits.
    case nothing
    /// The process or the machine has no descriptor left; try again later.
    case exhausted
  }

  /// For `Epoll.add`; this value closes it.
  public let descriptor: Int32
  /// The TCP port; 0 for a unix socket.
  public let port: UInt16
  private let path: String?

  private init(descriptor: Int32, port: UInt16, path: String?) {
    self.descriptor = descriptor
    self.port = port
    self.path = path
  }

  /// Closes the socket, which drops connections that were not accepted yet, and removes the file of
  /// a unix socket.
  deinit {
    if let path { unlink(path) }
    close(descriptor)
  }

  /// Listens on an IP address literal; with port 0 the kernel chooses one.
  ///
  /// SO_REUSEPORT is not set: a second daemon on the same port must fail (promise 10) instead of
  /// getting half of the connections.
  ///
  /// - Throws: `LedgerError.system` with EINVAL when `host` is no literal, EADDRINUSE when the
  ///   port is taken, EACCES for a privileged port, or the errno of another failed call.
  public static func tcp(host: String, port: UInt16) throws(LedgerError) -> Listener {
    if var address = IPAddress.v4(host, port: port) { return try bound(to: &address, AF_INET) }
    if var address = IPAddress.v6(host, port: port) { return try bound(to: &address, AF_INET6) }
    throw .system("read the address", EINVAL)
  }

  private static func bound<Address>(
    to address: inout Address, _ family: Int32
  ) throws(LedgerError) -> Listener {
    let socket = try streamSocket(family)
    var one: Int32 = 1
    setsockopt(socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    // Accepted connections inherit it. A response is one write and must not wait for an ACK.
    setsockopt(socket.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    try bind(socket.descriptor, &address)
    try listen(socket.descriptor)
    let port = try boundPort(socket.descriptor)
    return Listener(descriptor: socket.release(), port: port, path: nil)
  }

  /// Listens on a unix socket of mode 0600. Replaces a socket file that no process listens on.
  ///
  /// - Throws: `LedgerError.system` with EADDRINUSE when another process listens on it, ENOTSOCK
  ///   when the path is not a socket, ELOOP when it is a symbolic link, ENAMETOOLONG when the path
  ///   does not fit in sockaddr_un, or the errno of another failed call.
  public static func unix(path: String) throws(LedgerError) -> Listener {
    var address = try unixAddress(path)
    let socket = try streamSocket(AF_UNIX)
    var status = stat()
    if lstat(path, &status) == 0 {
      // It may lead to the socket of another daemon, or where anybody can write.
      guard status.st_mode & S_IFMT != S_IFLNK else { throw .system("use a symbolic link", ELOOP) }
      guard status.st_mode & S_IFMT == S_IFSOCK else { throw .system("replace a file", ENOTSOCK) }
      guard try isStale(&address) else { throw .system("replace the socket file", EADDRINUSE) }
      unlink(path)
    }
    // bind(2) gives the file the mode of the socket, so the file never has a wider one.
    fchmod(socket.descriptor, 0o600)
    try bind(socket.descriptor, &address)
    try listen(socket.descriptor)
    return Listener(descriptor: socket.release(), port: 0, path: path)
  }

  /// Accepts the next waiting connection, if any. Never blocks.
  public func accept() -> Acceptance {
    while true {
      var peer = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let accepted = withUnsafeMutablePointer(to: &peer) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          accept4(descriptor, $0, &length, Self.nonBlocking)
        }
      }
      if accepted >= 0 {
        return .connection(descriptor: accepted, address: IPAddress.text(of: peer))
      }
      switch errno {
      case EAGAIN: return .nothing
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: return .exhausted
      // accept(2): the connection failed before it was accepted; try the next one.
      case EINTR, ECONNABORTED, EPERM, EPROTO, ENETDOWN, EHOSTDOWN, EHOSTUNREACH, ENETUNREACH:
        continue
      default: return .nothing
      }
    }
  }

  /// Refuses new connections from now on, and drops those that were not accepted yet.
  public func stop() { _ = shutdown(descriptor, Int32(SHUT_RD)) }

  private static var nonBlocking: Int32 {
    Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  }

  private static func streamSocket(_ family: Int32) throws(LedgerError) -> Socket {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | nonBlocking, 0)
    guard descriptor >= 0 else { throw .last("open a socket") }
    return Socket(adopting: descriptor)
  }

  private static func bind<Address>(
    _ socket: Int32, _ address: inout Address
  ) throws(LedgerError) {
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(socket, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    guard code == 0 else { throw .last("bind to the address") }
  }

  private static func listen(_ socket: Int32) throws(LedgerError) {
    guard Glibc.listen(socket, 4096) == 0 else { throw .last("listen") }
  }

  private static func boundPort(_ socket: Int32) throws(LedgerError) -> UInt16 {
    var address = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let code = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &length) }
    }
    guard code == 0 else { throw .last("read the port") }
    // The port has the same offset in sockaddr_in and sockaddr_in6.
    return UInt16(bigEndian: address.sin6_port)
  }

  private static func unixAddress(_ path: String) throws(LedgerError) -> sockaddr_un {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { buffer in
      guard !path.isEmpty, path.utf8.count < buffer.count else { return false }
      buffer.copyBytes(from: path.utf8)
      return true
    }
    guard fits else { throw .system("use the path of the socket", ENAMETOOLONG) }
    return address
  }

  /// Whether no process listens on a socket file: connecting to it is refused.
  private static func isStale(_ address: inout sockaddr_un) throws(LedgerError) -> Bool {
    let caller = try streamSocket(AF_UNIX)
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(caller.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    return code != 0 && errno == ECONNREFUSED
  }
}
