import Glibc
import Platform
import StrictJSON
import Testing

/// A blocking client that sends one request and reads the response.
enum SocketClient {
  /// Sends bytes and reads to the end of the stream; returns nil if no response came.
  static func exchange(_ port: UInt16, _ bytes: [UInt8]) -> Response? {
    let descriptor = connected(to: port)
    defer { close(descriptor) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      // A refusal may close the connection before the whole body is read.
      guard count > 0 else { break }
      sent += count
    }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      received += buffer[..<count]
    }
    return Response(received)
  }

  private static func connected(to port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var timeout = timeval(tv_sec: 20, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
    _ = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return descriptor
  }
}

/// One response.
struct Response {
  let status: Int
  let head: String
  let body: [UInt8]

  init?(_ bytes: [UInt8]) {
    let end = Array("\r\n\r\n".utf8)
    guard let at = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else {
      return nil
    }
    head = String(decoding: bytes[..<at], as: UTF8.self)
    status = Int(head.dropFirst(9).prefix(3)) ?? 0
    body = Array(bytes[(at + 4)...])
  }

  var text: String { String(decoding: body, as: UTF8.self) }

  var json: JSONElement? { try? JSONDocument(parsing: body).root }

}
