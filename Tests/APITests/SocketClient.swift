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

  func header(_ name: String) -> String? {
    let line = head.split(separator: "\r\n").first {
      $0.lowercased().hasPrefix(name.lowercased() + ":")
    }
    return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
  }

  var json: JSONElement? { try? JSONDocument(parsing: body).root }

  /// Whether any 16 consecutive bytes of the request occur in the body.
  func repeats(_ request: [UInt8]) -> Bool {
    let runs = Set(Self.runs(body).map { [$0.first, $0.second] })
    return !runs.isEmpty && Self.runs(request).contains { runs.contains([$0.first, $0.second]) }
  }

  /// Every run of 16 bytes, as two numbers.
  private static func runs(_ bytes: [UInt8]) -> [(first: UInt64, second: UInt64)] {
    var found: [(first: UInt64, second: UInt64)] = []
    var run = (first: UInt64(0), second: UInt64(0))
    for (index, byte) in bytes.enumerated() {
      run = (run.first << 8 | run.second >> 56, run.second << 8 | UInt64(byte))
      if index >= 15 { found.append(run) }
    }
    return found
  }

  func expectProblem(_ row: String, _ codes: [String], _ location: SourceLocation) {
    #expect(
      header("Content-Type") == "application/problem+json", "\(row)", sourceLocation: location)
    let code = json?["code"]?.string
    #expect(code?.isEmpty == false, "\(row) has no code", sourceLocation: location)
    if !codes.isEmpty {
      #expect(codes.contains(code ?? ""), "\(row): \(code ?? "none")", sourceLocation: location)
    }
    #expect(json?["status"]?.integer == Int64(status), "\(row)", sourceLocation: location)
  }
}
