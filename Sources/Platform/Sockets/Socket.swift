import CLinux
import Glibc

/// A connected, non-blocking stream socket; closed when it goes.
public struct Socket: ~Copyable {
  public enum Transfer: Sendable, Equatable {
    /// So many bytes, at least one.
    case moved(Int)
    /// Nothing now; epoll tells when.
    case wouldBlock
    /// The other end has sent its last byte (receiving only).
    case ended
    /// Reset, or otherwise gone.
    case broken
  }

  public let descriptor: Int32

  /// Takes over a descriptor that nobody else closes.
  public init(adopting descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Gives the descriptor away, open.
  public consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// Receives into `buffer` from its start, at most as many bytes as it has.
  public func receive(into buffer: inout [UInt8]) -> Transfer {
    while true {
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count > 0 { return .moved(count) }
      if count == 0 { return .ended }
      if errno != EINTR { return errno == EAGAIN ? .wouldBlock : .broken }
    }
  }

  /// Sends what `bytes` holds from `start` on. Never raises SIGPIPE (MSG_NOSIGNAL in send(2)).
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

  /// Sends no more; the other end reads to the end of the stream.
  public func shutdownSending() { _ = shutdown(descriptor, Int32(SHUT_WR)) }
}
