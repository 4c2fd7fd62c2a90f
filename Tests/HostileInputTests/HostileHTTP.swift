import Foundation
import StrictJSON
import Support
import Testing

/// H: HTTP. A request with a body carries a good notification, so that a parser which reads it
/// differently from the table journals an event, and the test notices.
extension HostileTable {
  private typealias Variant = HostileRow.Variant

  /// A POST of a good notification with other framing; `fields` returns its framing fields.
  private static func framed(
    _ hostile: HostileClient, _ fields: [(Int) -> String], _ body: ([UInt8]) -> [UInt8] = { $0 }
  ) throws -> [HostileRow.Variant] {
    try fields.map { field in
      let good = try hostile.goodBody()
      return Variant.fields(field(good.count), body(good))
    }
  }

  private static func framed(_ hostile: HostileClient, _ fields: [String]) throws -> [HostileRow
    .Variant]
  {
    try framed(hostile, fields.map { text in { _ in text } })
  }

  private static func chunks(_ bytes: [UInt8]) -> [UInt8] {
    Array((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + Array("\r\n0\r\n\r\n".utf8)
  }

  /// A chunked request with these bytes after the head.
  private static func chunked(_ texts: [String]) -> [HostileRow.Variant] {
    texts.map { .fields("Transfer-Encoding: chunked\r\n", Array($0.utf8)) }
  }

  private static func heads(_ texts: [String]) -> [HostileRow.Variant] { texts.map(Variant.raw) }

  private static func fields(_ fields: [String]) -> [HostileRow.Variant] {
    heads(fields.map { "GET /healthz HTTP/1.1\r\nHost: h\r\n\($0)\r\n\r\n" })
  }

  static let http = httpRows + httpPlays

  private static let httpRows: [HostileRow] = [
    .refused("H1", 400, closes: true) { hostile in
      try framed(
        hostile,
        [
          { "Content-Length: \($0)\r\nContent-Length: \($0 + 1)\r\n" },
          { "Content-Length: 2\r\nContent-Length: \($0)\r\n" },
          { "Content-Length: \($0)\r\nX: y\r\ncontent-length: 0\r\n" },
        ])
    },
    .refused("H2", 400, closes: true) { hostile in
      try framed(
        hostile,
        [
          { "Content-Length: \($0)\r\nContent-Length: \($0)\r\n" },
          { "Content-Length: \($0)\r\nCONTENT-LENGTH: \($0)\r\n" },
          { "Content-Length: \($0), \($0)\r\n" },
        ])
    },
    .refused("H3", 400, closes: true) { hostile in
      try framed(
        hostile,
        [
          { "Content-Length: \($0)\r\nTransfer-Encoding: chunked\r\n" },
          { "Transfer-Encoding: chunked\r\nContent-Length: \($0 + 20)\r\n" },
          { _ in "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n" },
        ], chunks)
    },
    .refused("H4", 400, closes: true) { hostile in
      try framed(
        hostile,
        [
          { _ in "Transfer-Encoding : chunked\r\n" }, { _ in "Transfer-Encoding\t: chunked\r\n" },
          { "Content-Length : \($0)\r\n" }, { _ in " Transfer-Encoding: chunked\r\n" },
        ], chunks)
    },
    .refused("H5", 400, 501, closes: true) { hostile in
      try framed(
        hostile,
        [
          "xchunked", "chunked, identity", "chunked, chunked", "identity", "gzip, chunked",
          "\"chunked\"", "chunked;q=1", "chunked,", ",chunked", "", "chunked x",
          // By Unicode's rules U+212A in lower case is a k; ASCII case alone counts.
          "chun\u{212A}ed", "chunke\u{301}d", "\u{FF43}hunked",
        ].map { text in { _ in "Transfer-Encoding: \(text)\r\n" } }, chunks)
        + framed(
          hostile, [{ _ in "Transfer-Encoding: chunked\r\ntransfer-encoding: chunked\r\n" }], chunks
        )
    },
    .refused("H6", 400, closes: true) { hostile in
      try framed(
        hostile,
        ["+21", "-1", "0x15", "21, 21", "", " ", "2 1", "21.0", "1e2", "1_0", "\u{661}", "-0"]
          .map { "Content-Length: \($0)\r\n" })
    },
    .refused("H7", 400, 413, closes: true) { hostile in
      try framed(
        hostile,
        [
          "9223372036854775807", "9223372036854775808", "18446744073709551617",
          "18446744073709551637", String(repeating: "9", count: 30),
          String(repeating: "0", count: 30) + "5",
        ].map { "Content-Length: \($0)\r\n" })
    },
    .refused("H8", 413, closes: true) { _ in
      let chunk = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
      return [
        .fields("Content-Length: 262145\r\n"), .fields("Content-Length: 999999999999999999\r\n"),
        .fields("Content-Length: 262145\r\n", [UInt8](repeating: 0x20, count: 262_145)),
      ]
        + chunked([
          "40001\r\n", "fffffffffffffff\r\n", chunk + chunk + chunk + chunk + "1\r\n \r\n0\r\n\r\n",
        ])
    },
    .refused("H9", 411, closes: true) { hostile in
      try framed(hostile, ["", "X-Length: 5\r\n", "Connection: close\r\n"])
    },
    .refused("H10", 400, 413, closes: true) { _ in
      chunked([
        "-5\r\nhello", "1 0\r\n", "g\r\n", "10000000000000005\r\n", "\r\n", " 5\r\nhello",
        "5 \r\nhello", "0x5\r\nhello", "+5\r\nhello", "5\nhello\r\n0\r\n\r\n", "5;\r\nhello",
        "5;a=b\nhello", "5\r\nhelloXX0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
        "5;" + String(repeating: "e", count: 1024) + "\r\nhello",
        String(repeating: "0", count: 65) + "\r\n", "5;a=\u{7}\r\nhello", "5\r\nhell\r\n0\r\n\r\n",
      ])
    },
    .refused("H11", 400, closes: true) { hostile in
      let names = [
        "Content-Length: 5", "Host: x", "Transfer-Encoding: chunked", "Authorization: Bearer x",
        "content-length: 0", "Content-Type: text/plain", "Bad Name: x", " Folded: x", "NoColon",
      ]
      return try names.map { name in
        let good = try hostile.goodBody()
        let body = chunks(good).dropLast(2) + Array("\(name)\r\n\r\n".utf8)
        return .fields("Transfer-Encoding: chunked\r\n", Array(body))
      }
    },
    .refused("H12", 400, closes: true) { _ in
      heads([
        "GET /healthz HTTP/1.1\nHost: h\n\n", "GET /healthz HTTP/1.1\r\nHost: h\n\r\n",
        "GET /healthz HTTP/1.1\nHost: h\r\n\r\n", "\nGET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: h\r\n\n",
      ])
    },
    .refused("H13", 400, closes: true) { _ in
      fields(["X: a\r\n b", "X: a\r\n\tb", "X: a\r\n  Authorization: Bearer x"])
    },
    .refused("H14", 400, closes: true) { _ in
      fields(["X: a\0b", "X: \u{1}", "X: a\rb", "X: \u{7F}", "X: \u{1B}[2J", "X: a\u{B}b"])
    },
    .refused("H15", 400, closes: true) { _ in
      fields(["X Y: a", "X(: a", "X", ": a", "X\0: a", "X\u{E9}: a", "X : a", "{X}: a", "X@: a"])
    },
    .refused("H16", 400, closes: true) { _ in
      heads(
        [
          "", "Host: h\r\nHost: h", "Host: a\r\nhost: b", "Host: a b", "Host: a\rb", "Host:",
          "Host: a,b", "Host: a/b", "Host: u@h", "X: y", "Host: \u{E9}",
        ].map { "GET /healthz HTTP/1.1\r\n\($0)\r\n\r\n" })
    },
    .refused("H17", 400, 505, closes: true) { _ in
      heads([
        "GET / HTTP/1.2\r\nHost: h\r\n\r\n", "GET / HTTP/2.0\r\nHost: h\r\n\r\n",
        "GET / HTTP/0.9\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /\r\n",
        "GET / http/1.1\r\n\r\n", "GET / HTTP/11\r\n\r\n", "GET / HTTP/1.10\r\n\r\n",
        "GET / HTTPS/1.1\r\n\r\n",
      ]) + [
        HostileRow.Variant(
          name: "ClientHello",
          bytes: [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3] + [UInt8](repeating: 0x41, count: 504)),
        HostileRow.Variant(name: "SSLv2", bytes: [0x80, 0x2E, 1, 0, 2, 0, 0x15, 0, 0, 0, 0x10]),
      ]
    },
    .refused("H18", 431, closes: true) { _ in
      func field(_ size: Int) -> String { "X: " + String(repeating: "y", count: size) }
      return fields([
        [String](repeating: field(1000), count: 40).joined(separator: "\r\n"),
        [String](repeating: "X: y", count: 65).joined(separator: "\r\n"), field(9216),
        "Authorization: Bearer " + String(repeating: "y", count: 17_000),
      ])
    },
    .refused("H19", 414, closes: true) { _ in
      let long = String(repeating: "a", count: 3072)
      return heads([
        "GET /\(long) HTTP/1.1\r\nHost: h\r\n\r\n", "GET /?\(long) HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /\(long)",
      ])
    },
    .refused("H20", 400, 404, 405) { _ in
      heads(
        [
          "GET http://evil.example/v1/notifications", "POST http://h/v1/notifications",
          "CONNECT x:443", "OPTIONS *", "GET *", "GET x", "GET ?a", "GET /a#b", "GET /\\",
        ].map { "\($0) HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n" })
    },
    .refused("H21", 404) { hostile in
      try [
        "/..%2f..%2fetc%00", "//v1/notifications", "/v1/notifications/", "/v1;x/notifications",
        "/V1/notifications", "/%76%31/notifications", "/v1/./notifications",
        "/v1/../v1/notifications", "/v1/notifications;a", "/v1/notifications%20",
      ].map { path in
        let good = try hostile.goodBody()
        let head = "POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(good.count)\r\n\r\n"
        return HostileRow.Variant(name: path, bytes: Array(head.utf8) + good)
      }
    },
    .refused("H22", 405, field: "Allow: POST") { _ in
      ["GET", "PUT", "DELETE", "TRACE", "HEAD", "PATCH", "OPTIONS", "post"].map {
        .get("/v1/notifications", method: $0)
      }
    },
    .refused("H23", 415, codes: ["media_type"]) { hostile in
      try framed(
        hostile,
        [
          "text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-16",
          "", "application/jsonp", "text/json", "application/json, text/plain",
          "application/x-www-form-urlencoded", "application/json; charset=latin1", ";",
          "application/json; boundary=x", "application/problem+json",
          "application/json;charset=utf-8;charset=utf-16",
          "application/json\r\nContent-Type: text/plain",
        ].map { type in { "Content-Type: \(type)\r\nContent-Length: \($0)\r\n" } })
    },
    .accepted("H23") { hostile in
      try framed(
        hostile,
        [
          "", "Content-Type: application/json; charset=UTF-8\r\n",
          "content-type: Application/JSON\r\n",
          "Content-Type: application/json ; charset=\"utf-8\"\r\nContent-Encoding: identity\r\n",
          "X-Forwarded-For: 17.0.0.1\r\nForwarded: for=17.0.0.1\r\nX-Real-IP: 17.0.0.1\r\n",
        ].map { fields in { "\(fields)Content-Length: \($0)\r\n" } })
    },
    .refused("H24", 415, codes: ["media_type"]) { hostile in
      try framed(
        hostile,
        ["gzip", "br", "deflate", "zstd", "gzip, identity", "identity, gzip"].map { coding in
          { "Content-Encoding: \(coding)\r\nContent-Length: \($0)\r\n" }
        })
    },
    .refused("H25", 417, codes: ["expectation"]) { hostile in
      try framed(
        hostile,
        ["200-ok", "100-continue, x", "", "100"].map { text in
          { "Expect: \(text)\r\nContent-Length: \($0)\r\n" }
        })
    },
    .refused("H26", 413, closes: true) { _ in
      [
        .fields("Expect: 100-continue\r\nContent-Length: 262145\r\n"),
        .fields("Content-Length: 99999999\r\nExpect: 100-Continue\r\n"),
      ]
    },
  ]

  // MARK: Rows with more than one answer

  private static let httpPlays: [HostileRow] = [
    .scripted("H27") { hostile in
      let good = try hostile.goodBody()
      let before = try hostile.state()
      for bytes in [
        Array(good.dropLast()), Array(good.prefix(1)), [],
      ] {
        let client = hostile.daemon.client()
        #expect(client.write(head(good.count) + bytes))
        client.finishSending()
        let answer = client.answer()
        #expect(answer == nil || answer?.status == 400, "H27")
        #expect(!client.isTimedOut, "H27 hangs")
      }
      #expect(try hostile.state() == before, "H27")
    },
    .scripted("H28", late),
    .scripted("H29", smuggled),
    .scripted("H30") { hostile in
      let (one, two) = try (goodPost(hostile), goodPost(hostile))
      let before = try hostile.state().events
      let client = hostile.daemon.client()
      #expect(client.write(one + two))
      let seqs = (0..<2).map { _ in client.answer()?.json?["seq"]?.integer }
      #expect(seqs == [before + 1, before + 2], "H30")
    },
    .accepted("H31") { hostile in
      try framed(
        hostile,
        [
          {
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
              + "Content-Length: \($0)\r\n"
          },
          {
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
              + "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-Length: \($0)\r\n"
          },
        ])
    },
    .scripted("H32") { hostile in
      for _ in 0..<20 {
        let client = hostile.daemon.client()
        client.reset()
        _ = client.write(try goodPost(hostile))
      }
      #expect(hostile.daemon.client().get("/healthz")?.status == 200, "H32")
    },
    .scripted("H33", crowd),
    .refused("H34", 404) { _ in
      let token = "Authorization: Bearer \(Installation.token)"
      return [
        "X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 17.0.0.1", "Forwarded: for=localhost",
        "X-Real-IP: ::1",
      ].flatMap { claim in
        [
          "/control/projection", "/control/ingest", "/control/adopt", "/control/quarantine/admit",
          "/control/events",
        ].flatMap { path -> [Variant] in
          [
            .get(path, [claim, token, "Content-Length: 0"], method: "POST"), .get(path, [claim]),
          ]
        }
      }
    },
    .refused("H35", 400, closes: true) { _ in
      let rest = Array(" HTTP/1.1\r\nHost: h\r\n\r\n".utf8)
      return [
        HostileRow.Variant(name: "BOM", bytes: [0xEF, 0xBB, 0xBF] + Array("GET /".utf8) + rest),
        HostileRow.Variant(name: "method", bytes: [0x47, 0xC9, 0x54] + Array(" /".utf8) + rest),
        HostileRow.Variant(name: "target", bytes: Array("GET /".utf8) + [0xC3, 0xA9] + rest),
        HostileRow.Variant(
          name: "value", bytes: Array("GET / HTTP/1.1\r\nHost: h\r\nX: ".utf8) + [0xFF, 0x0D, 0x0A]),
        HostileRow.Variant(
          name: "host",
          bytes: Array("GET / HTTP/1.1\r\nHost: ".utf8) + [0x80, 0x0D, 0x0A, 0x0D, 0x0A]),
      ]
    },
  ]

  private static func head(_ length: Int) -> [UInt8] {
    Array("POST /v1/notifications HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n".utf8)
  }

  private static func goodPost(_ hostile: HostileClient) throws -> [UInt8] {
    let good = try hostile.goodBody()
    return head(good.count) + good
  }

  /// Deadlines of one second, against clients that stop sending or send a byte now and then.
  @Sendable private static func late(_: HostileClient) throws {
    let hostile = try HostileClient(with: [
      ("limits", .object([("headerSeconds", .integer(1)), ("bodySeconds", .integer(1))]))
    ])
    let good = try hostile.goodBody()
    let before = try hostile.counters()
    let quiet: [[UInt8]] = [
      Array("G".utf8), Array("POST /v1/notifications HTTP/1.1\r\nHost: h\r\n".utf8),
      head(good.count),
      head(good.count) + good.dropLast(),
    ]
    for bytes in quiet {
      let client = hostile.daemon.client()
      #expect(client.write(bytes))
      #expect(client.answer()?.status == 408, "H28 \(bytes.count)")
      #expect(client.isClosed(), "H28")
    }
    for start in [Array("GET /healthz HTTP/1.1\r\nX: ".utf8), head(good.count)] {
      let client = hostile.daemon.client()
      #expect(client.write(start))
      let begun = Date()
      for byte in good.prefix(40) {
        guard client.write([byte]) else { break }
        usleep(100_000)
      }
      #expect(client.answer()?.status == 408 || Date().timeIntervalSince(begun) < 20, "H28 drip")
      #expect(client.isClosed(), "H28 drip")
    }
    let timeouts = "subledger_http_refusals_total{status=\"408\"}"
    #expect(try hostile.counters()[timeouts] == (before[timeouts] ?? 0) + 6, "H28")
    #expect(try hostile.state().events == 0, "H28")
    try hostile.finish()
  }

  /// Bytes after a body are the next request; after a framing error they are not read.
  @Sendable private static func smuggled(_ hostile: HostileClient) throws {
    let before = try hostile.state().events
    let client = hostile.daemon.client()
    #expect(client.write(try goodPost(hostile) + goodPost(hostile)))
    #expect(client.answer()?.json?["seq"]?.integer == before + 1, "H29")
    #expect(client.answer()?.json?["seq"]?.integer == before + 2, "H29")
    try hostile.settle()
    let good = try hostile.goodBody()
    let heads = [
      "Content-Length: 2\r\nContent-Length: 2\r\n",
      "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: \(good.count)\r\n", "Content-Length: +2\r\n",
    ]
    for fields in heads {
      let second = try goodPost(hostile)
      let first = HostileRow.Variant.fields(fields, Array("{}".utf8))
      let both = HostileRow.Variant(name: first.name, bytes: first.bytes + second)
      try hostile.refuses("H29 \(first.name)", both, [400], closes: true)
    }
    // The length is too short: the rest of the body is not a request and ends the connection.
    let short = HostileRow.Variant(name: "short", bytes: head(2) + good + (try goodPost(hostile)))
    let stand = try hostile.state()
    let other = hostile.daemon.client()
    _ = other.write(short.bytes)
    #expect([400, nil].contains(other.answer()?.status), "H29 short")
    // A line this long is not a request line.
    #expect([400, 414, nil].contains(other.answer()?.status), "H29 short")
    #expect(other.isClosed(), "H29 short")
    #expect(try hostile.state() == stand, "H29 short")
  }

  /// A connection within the limit: connections of the start-up may still be closing.
  private static func seated(_ hostile: HostileClient) throws -> Client {
    for _ in 0..<1200 {
      let client = hostile.daemon.client()
      if client.get("/healthz")?.status == 200 { return client }
      usleep(50_000)
    }
    throw TestFailure("H33: no connection is available")
  }

  /// One address that is not a trusted proxy, whatever its headers claim.
  @Sendable private static func crowd(_: HostileClient) throws {
    let hostile = try HostileClient(with: [
      ("trustedProxies", .array([])),
      ("limits", .object([("connectionsPerAddress", .integer(9))])),
    ])
    let held = try (0..<8).map { _ in try seated(hostile) }
    for claim in ["X: y", "X-Forwarded-For: 17.0.0.1"] {
      // Some connections over the limit may take the slot of one that the test has closed.
      let others = (0..<3).map { _ in hostile.daemon.client() }
      let answers = others.map { $0.ask("GET", "/healthz", [claim]) }
      let refused = answers.filter { $0?.status == 503 || $0 == nil }
      #expect(refused.count >= 2, "H33 \(answers.map { $0?.status })")
      for answer in refused.compactMap(\.self) {
        #expect(answer.field("Retry-After") != nil && answer.field("Connection") == "close", "H33")
      }
    }
    withExtendedLifetime(held) {}
    #expect(try hostile.state().events == 0, "H33")
    for client in held { #expect(client.get("/healthz")?.status == 200, "H33 afterwards") }
    try hostile.finish()
  }
}
