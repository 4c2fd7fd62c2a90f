import HTTPServer
import Platform

/// Answers that are damaged as a fault says.
extension Fault {
  /// The answer in place of the regular one; nil if the fault damages the regular one.
  ///
  /// - Parameter now: the service's clock, milliseconds since 1970.
  func replacement(path: String, now: Int64) -> HTTPResponse? {
    switch kind {
    case .error: return .error(code)
    case .rateLimit:
      var response = HTTPResponse.error(4_290_000)
      if let value = retryAfterValue(now) { response.headers.append(("Retry-After", value)) }
      return response
    case .oversized:
      let start = Array(#"{"padding":""#.utf8)
      let end = Array(#""}"#.utf8)
      let padding = [UInt8](repeating: 0x61, count: (1 << 20) + 1 - start.count - end.count)
      return Self.body(start + padding + end, "application/json")
    case .redirect: return HTTPResponse(status: 302, headers: [("Location", path)])
    case .html503: return Self.html(status: 503)
    case .html200: return Self.html(status: 200)
    case .wrongTypes:
      let text =
        #"{"appAppleId":"hi","hasMore":1,"notificationHistory":"none","data":7,"#
        + #""signedTransactions":{},"signedTransactionInfo":[],"revision":1,"status":"0"}"#
      return Self.body(Array(text.utf8), "application/json")
    case .empty: return HTTPResponse(status: 200)
    case .unauthenticated, .delay, .stalledHead, .stalledBody, .slowHead, .slowBody, .cutBody,
      .wrongLength, .gzip:
      return nil
    }
  }

  /// The regular answer, damaged or slow on its way.
  func damaged(_ response: HTTPResponse) -> TimedAnswer {
    var answer = TimedAnswer(response: damagedBytes(response))
    switch kind {
    case .delay: answer.delay = wait
    case .slowHead, .slowBody:
      let (wire, head) = Self.wire(response)
      answer.slow = kind == .slowHead ? 0..<head : head..<wire.count
      answer.pause = wait
    default: break
    }
    return answer
  }

  /// The bytes of an answer, and how many of them are its head.
  private static func wire(_ response: HTTPResponse) -> (bytes: [UInt8], head: Int) {
    var wire: [UInt8] = []
    response.serialise(into: &wire, toHead: false, closing: false)
    return (wire, wire.count - response.body.count)
  }

  private func damagedBytes(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    let body = response.body
    switch kind {
    case .gzip:
      response.headers.append(("Content-Encoding", "gzip"))
      response.body = Gzip.stored(body)
    case .stalledHead, .stalledBody, .cutBody:
      let (wire, head) = Self.wire(response)
      response.wire = Array(wire.prefix(kind == .stalledHead ? head / 2 : head + body.count / 2))
      response.closes = kind == .cutBody
    case .wrongLength:
      var wire: [UInt8] = []
      response.body = Array(body.dropLast(10))
      response.serialise(into: &wire, toHead: false, closing: true)
      response.wire = wire + body.suffix(10)
      response.closes = true
    default: break
    }
    return response
  }

  private func retryAfterValue(_ now: Int64) -> String? {
    switch retryAfter {
    case .milliseconds: String(now + wait)
    case .seconds: String((wait + 999) / 1000)
    case .date: DateField.text((now + wait) / 1000)
    case .absent: nil
    case .past: String(now - 60_000)
    case .future: String(now + 365 * CivilTime.day)
    case .garbage: "soon"
    }
  }

  private static func html(status: Int) -> HTTPResponse {
    body(Array("<html><body>\(status)</body></html>".utf8), "text/html", status: status)
  }

  private static func body(_ body: [UInt8], _ type: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Content-Type", type)], body: body)
  }
}

/// The gzip format (RFC 1952) with blocks that are stored and not compressed (RFC 1951 3.2.4).
enum Gzip {
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xFFFF)
      rest = rest.dropFirst(block.count)
      let length = UInt16(block.count)
      text += [rest.isEmpty ? 1 : 0]
      text += littleEndian(length) + littleEndian(~length)
      text += block
    } while !rest.isEmpty
    return text + littleEndian(checksum(bytes))
      + littleEndian(UInt32(truncatingIfNeeded: bytes.count))
  }

  private static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }

  /// CRC-32 (RFC 1952 section 8).
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var value = UInt32.max
    for byte in bytes {
      value ^= UInt32(byte)
      for _ in 0..<8 { value = value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return ~value
  }
}
