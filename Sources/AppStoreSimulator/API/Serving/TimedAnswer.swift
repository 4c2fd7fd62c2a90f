import Glibc
import HTTPServer
import Platform

/// An answer, and when its bytes are sent.
struct TimedAnswer: Sendable {
  var response: HTTPResponse
  /// Milliseconds before the first byte.
  var delay: Int64 = 0
  /// Bytes of the answer that are sent one by one; nil if all are sent at once.
  var slow: Range<Int>?
  /// Milliseconds before each of them.
  var pause: Int64 = 0

  /// Whether it must be sent from a thread of its own.
  var isTimed: Bool { delay > 0 || slow != nil }

  /// Milliseconds that slow bytes are sent for at most: no client waits longer.
  private static let longest: Int64 = 120_000

  /// Sends it, and returns when all is sent.
  func send(through sender: ResponseSender) {
    usleep(UInt32(clamping: delay * 1000))
    guard let slow else { return sender.send(response) }
    var wire: [UInt8] = []
    response.serialise(into: &wire, toHead: false, closing: false)
    var part = response
    part.isPart = true
    part.wire = Array(wire[..<slow.lowerBound])
    sender.send(part)
    for byte in wire[slow].prefix(Int(Self.longest / max(1, pause))) {
      usleep(UInt32(clamping: pause * 1000))
      part.wire = [byte]
      sender.send(part)
    }
    part.isPart = false
    part.wire = Array(wire[slow.upperBound...])
    sender.send(part)
  }
}
