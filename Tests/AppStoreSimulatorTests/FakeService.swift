import Clients
import Foundation
import Glibc
import Synchronization
import Testing

@testable import AppStoreSimulator

/// A service on this machine that answers each request with the next of its answers, and all
/// further requests with the last one. An empty answer closes the connection.
final class FakeService: Sendable {
  let port: UInt16
  let requests = Mutex<[String]>([])
  private let listener: Int32
  private let answers: [String]

  init(_ answers: [String]) throws {
    self.answers = answers
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 16) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    try #require(isBound)
    port = UInt16(bigEndian: address.sin_port)
    Foundation.Thread.detachNewThread { self.acceptAll() }
  }

  deinit { close(listener) }

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  var address: ServiceURL? { ServiceURL("http://127.0.0.1:\(port)/v1/notifications") }

  static func answer(_ status: String, _ body: String = "") -> String {
    "HTTP/1.1 \(status)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private func acceptAll() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { return }
      Foundation.Thread.detachNewThread { self.serve(client) }
    }
  }

  private func serve(_ client: Int32) {
    defer { close(client) }
    var text = ""
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      if isComplete(text) {
        let answer = nextAnswer(to: text)
        text = ""
        if answer.isEmpty { return }
        let bytes = Array(answer.utf8)
        _ = send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL))
      }
      let count = recv(client, &chunk, chunk.count, 0)
      guard count > 0 else { return }
      text += String(decoding: chunk.prefix(count), as: UTF8.self)
    }
  }

  private func isComplete(_ text: String) -> Bool {
    guard let end = text.range(of: "\r\n\r\n"), let field = text.range(of: "Content-Length: "),
      let length = Int(text[field.upperBound...].prefix { $0.isNumber })
    else { return false }
    return text[end.upperBound...].utf8.count >= length
  }

  private func nextAnswer(to request: String) -> String {
    requests.withLock { requests in
      requests.append(request)
      return answers[min(requests.count, answers.count) - 1]
    }
  }
}
