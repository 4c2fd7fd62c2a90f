import CLinux
import Glibc

/// A connected, non-blocking stream socket, closed at the end of the value's life.
public struct Socket: ~Copyable {
  /// The outcome of `receive` or `send`.
  public enum Transfer: Sendable, Equatable {
    /// The number of bytes, at least one.
    case moved(Int)
    /// No byte can be moved now; epoll reports when one can.
    case wouldBlock
    /// The other end has sent its last byte (receiving only).
    case ended
    /// The connection was reset or failed in another way.
    case broken
  }

  /// For `Epoll.add`; this value closes it.
  public let descriptor: Int32

  /// Takes ownership of a descriptor: this value closes it.
  public init(adopting descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// The user of the process at the other end of a unix socket.
  public var peerUser: UInt32 { subledger_peer_user(descriptor) }

  /// Gives up ownership without closing the descriptor.
  public consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// Receives at most `buffer.count` bytes into `buffer`, from its start.
  public func receive(into buffer: inout [UInt8]) -> Transfer {
    while true {
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .moved(count) }
      if count == 0 { return .ended }
      if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .broken }
    }
  }

  /// Sends `bytes` from the index `start` on. Never raises SIGPIPE (MSG_NOSIGNAL in send(2)).
  public func send(_ bytes: [UInt8], from start: Int) -> Transfer {
    while true {
      let count = bytes.withUnsafeBytes { raw in
        Glibc.send(
          descriptor, raw.baseAddress.map { $0 + start }, raw.count - start,
          Int32(MSG_NOSIGNAL))
      }
      if count >= 0 { return .moved(count) }
      if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .broken }
    }
  }

  /// Closes the sending half: the other end then reads the end of the stream.
  public func shutdownSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }
}
