import Glibc
import Platform
import Store
import StrictJSON

/// An HTTP client for the daemon that has locked a data folder, over the unix socket in the folder.
final class ControlClient {
  private let descriptor: Int32

  /// Connects; nil if no daemon listens on the socket.
  ///
  /// - Parameter seconds: the longest wait to connect, send or receive; nil for no limit.
  init?(_ folder: DataFolder, seconds: Int? = nil) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array(folder.controlSocket.utf8)
    let fits = withUnsafeMutableBytes(of: &address.sun_path) { buffer in
      guard path.count < buffer.count else { return false }
      buffer.copyBytes(from: path)
      return true
    }
    let opened = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard fits, opened >= 0 else { return nil }
    if let seconds {
      var limit = timeval(tv_sec: seconds, tv_usec: 0)
      for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
        setsockopt(
          opened, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
      }
    }
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(opened, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else {
      close(opened)
      return nil
    }
    descriptor = opened
  }

  deinit { close(descriptor) }

  /// POSTs and waits for the answer.
  ///
  /// - Throws: `LedgerError.unavailable` if the connection ends first: what the daemon has
  ///   journaled until then stays journaled; or if the daemon does not know the route.
  func post(
    _ path: String, _ body: [UInt8] = []
  ) throws(LedgerError) -> (status: Int, body: JSONElement) {
    let head =
      "POST \(path) HTTP/1.1\r\nHost: control\r\nContent-Length: \(body.count)\r\n\r\n"
    let answer = try exchange(Array(head.utf8) + body)
    if answer.status == 404, answer.body["code"]?.string == "no_such_route" {
      throw Self.otherVersion
    }
    return answer
  }

  static let otherVersion = LedgerError.unavailable(
    "the daemon on this folder is of another version than this program, \(Subledger.version); "
      + "restart it with this one, or use the program that it was started with")

  /// GETs one of the routes that need no token.
  ///
  /// - Throws: `LedgerError.unavailable` if the connection ends before the answer.
  func get(_ path: String) throws(LedgerError) -> (status: Int, body: JSONElement) {
    try exchange(Array("GET \(path) HTTP/1.1\r\nHost: control\r\n\r\n".utf8))
  }

  /// Waits with this cancellation: an answer that comes later is not read.
  var cancellation: Cancellation?

  private func exchange(
    _ request: [UInt8]
  ) throws(LedgerError) -> (status: Int, body: JSONElement) {
    try send(request)
    var answer: [UInt8] = []
    while true {
      if let complete = Self.parse(answer) { return complete }
      if let cancellation, !cancellation.waits(toRead: descriptor) { throw Self.disconnected }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Self.disconnected }
      answer += chunk[..<count]
    }
  }

  private static let disconnected = LedgerError.unavailable(
    "the daemon closed the connection; start it and run this again, journaled events are safe")

  private func send(_ bytes: [UInt8]) throws(LedgerError) {
    var remaining = bytes[...]
    while !remaining.isEmpty {
      let count = remaining.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw Self.disconnected }
      remaining = remaining.dropFirst(count)
    }
  }

  /// A complete answer; nil if more bytes are needed. The daemon's answers always have
  /// Content-Length and a JSON body.
  private static func parse(_ answer: [UInt8]) -> (status: Int, body: JSONElement)? {
    guard let end = headEnd(answer) else { return nil }
    let lines = String(decoding: answer[..<end], as: UTF8.self).split(separator: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }),
      let field = lines.first(where: { $0.lowercased().hasPrefix("content-length:") }),
      let length = Int(field.dropFirst(15).filter { $0 != " " })
    else { return nil }
    let body = Array(answer[end...])
    guard body.count >= length, let document = try? JSONDocument(parsing: body) else { return nil }
    return (status, document.root)
  }

  /// The index after the empty line that ends the head.
  private static func headEnd(_ answer: [UInt8]) -> Int? {
    let line = Array("\r\n\r\n".utf8)
    return answer.indices.first { answer[$0...].starts(with: line) }.map { $0 + line.count }
  }
}
