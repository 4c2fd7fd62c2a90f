import StrictJSON
import Support
import Testing

/// Rows N1 to N13 and V1 of the hostile inputs: the body, before any signature is verified.
@Suite struct JSONTests {
  private func start() throws -> (InProcessServer, Authority) {
    let authority = try Authority.shared.get()
    return (try InProcessServer(root: authority.root), authority)
  }

  @Test func `N1 to N6, N12: a body that is not a notification is malformed`() throws {
    let (server, authority) = try start()
    let good = String(decoding: try authority.fresh(), as: UTF8.self)
    let rows: [(String, [String])] = [
      ("N1", ["", " ", " \n\t\r\n "]),
      ("N2", ["[]", "\"x\"", "null", "1", "{}", "true"]),
      ("N3", ["1", "null", "[]", "{}", "\"\"", "true"].map { "{\"signedPayload\":\($0)}" }),
      (
        "N4",
        [
          #"{"signedPayload":"\#(good)","signedPayload":"bad"}"#,
          #"{"signedPayload":"bad","signedPayload":"\#(good)"}"#,
          #"{"signedPayload":"bad","signed\u0050ayload":"\#(good)"}"#,
          #"{"signed\u0050ayload":"\#(good)","signedPayload":"\#(good)"}"#,
        ]
      ),
      (
        "N5",
        [
          #"{"signedPayload":"\#(good)","notification_type":"DID_RENEW"}"#,
          #"{"unified_receipt":{},"password":"x","signedPayload":"\#(good)"}"#,
        ]
      ),
      (
        "N6",
        [
          #"{"signedPayload":"\#(good)",}"#, #"{"signedPayload":"\#(good)"}// a"#,
          #"{/* a */"signedPayload":"\#(good)"}"#, "{'signedPayload':'\(good)'}",
          #"{signedPayload:"\#(good)"}"#, #"{"signedPayload":"\#(good)"} x"#,
          #"{"signedPayload":"\#(good)"}{"signedPayload":"\#(good)"}"#,
          "{\"signedPayload\":\"\(good)\"}\n{\"signedPayload\":\"\(good)\"}\n",
          #"{"signedPayload":"\#(good)""#, #"{"signedPayload" "\#(good)"}"#, "{\"signedPayload\":",
        ]
      ),
      (
        "N12",
        ["SignedPayload", "signedpayload", "SIGNEDPAYLOAD", "signed_payload", "signedPayload "]
          .map { "{\"\($0)\":\"\(good)\"}" }
      ),
    ]
    for (row, bodies) in rows {
      for body in bodies { try server.refuses(Array(body.utf8), 400, ["json", "envelope"], row) }
    }
  }

  @Test func `N7: a body that is not UTF-8 is malformed`() throws {
    let (server, authority) = try start()
    let good = ForgedJWS.body(try authority.fresh())
    var bodies: [[UInt8]] = [[0xEF, 0xBB, 0xBF] + good]
    bodies.append(good.flatMap { (byte) -> [UInt8] in [0, byte] })
    bodies.append(good.flatMap { (byte) -> [UInt8] in [byte, 0] })
    let bads: [[UInt8]] = [
      [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0x80],
      Array(#"\ud800"#.utf8), Array(#"\udc00\ud800"#.utf8), Array(#"\ud800\u0041"#.utf8),
    ]
    let rest = Array(good.dropFirst())
    for bad in bads {
      bodies.append(Array(#"{"a":""#.utf8) + bad + Array(#"","#.utf8) + rest)
    }
    for body in bodies { try server.refuses(body, 400, ["json"], "N7") }
  }

  @Test func `N8, N9: deep nesting and invalid numbers are malformed`() throws {
    let (server, authority) = try start()
    let rest = String(decoding: ForgedJWS.body(try authority.fresh()).dropFirst(), as: UTF8.self)
    let deep = [33, 1000, 100_000].map { String(repeating: "[", count: $0) }
    var bad =
      deep + [
        "{\"a\":\(String(repeating: "[", count: 32) + String(repeating: "]", count: 32)),\(rest)"
      ]
    bad.append(String(repeating: "{\"a\":", count: 40_000))
    for body in bad { try server.refuses(Array(body.utf8), 400, ["json"], "N8") }
    let numbers = [
      "1e999999", "1e400", "-1e99999999999999999999", "NaN", "Infinity", "-Infinity", "01", "1.",
      ".5", "+1", "0x10", "1e", "--1", "-", String(repeating: "9", count: 100_000),
    ]
    for number in numbers {
      try server.refuses(
        Array("{\"a\":\(number),\(rest)".utf8), 400, ["json"], "N9 \(number.prefix(9))")
    }
    let huge = "{\"a\":\(String(repeating: "9", count: 1_000_000)),\(rest)"
    try server.refuses(Array(huge.utf8), 413, ["too_large"], "N9")
    try server.accepts(Array("{\"a\":-0,\(rest)".utf8), "N9 -0 is a number")
  }

  @Test func `N10: control characters are malformed, NUL in a signed identifier is quarantined`()
    throws
  {
    let (server, authority) = try start()
    let good = String(decoding: try authority.fresh(), as: UTF8.self)
    for control in ["\n", "\t", "\u{0}", "\u{1F}"] {
      try server.refuses(
        Array("{\"a\":\"\(control)\",\"signedPayload\":\"\(good)\"}".utf8), 400, ["json"], "N10")
    }
    let nul = "nul_in_identifier"
    for path in [
      "data.transaction.originalTransactionId", "data.renewalInfo.originalTransactionId",
    ] {
      let notification = Sample.notification()
        .with("data.transaction.originalTransactionId", .string("1\u{0}2"))
        .with("data.renewalInfo.originalTransactionId", .string("1\u{0}2"))
        .with(path, .string("1\u{0}2"))
      // JSONValue writes NUL as \u0000.
      try server.refuses(signedPayload: try authority.signed(notification), 422, [nul], "N10b")
    }
    let bundle = Sample.notification().with("data.bundleId", .string("com.example.app\u{0}"))
    try server.refuses(signedPayload: try authority.signed(bundle), 422, [nul], "N10b")
    let uuid = Sample.notification().with("notificationUUID", .string("\u{0}"))
    try server.refuses(signedPayload: try authority.signed(uuid), 422, [nul], "N10b")
  }

  @Test func `N11: many keys, duplicate keys and long strings are refused`() throws {
    let (server, authority) = try start()
    let rest = String(decoding: ForgedJWS.body(try authority.fresh()).dropFirst(), as: UTF8.self)
    let keys = (0..<100_000).map { "\"k\($0)\":1" }.joined(separator: ",")
    try server.refuses(Array("{\(keys)}".utf8), 413, ["too_large"], "N11")
    let fewer = (0..<20_000).map { "\"k\($0)\":1" }.joined(separator: ",")
    try server.refuses(Array("{\(fewer),\"\\u006b1\":2,\(rest)".utf8), 400, ["json"], "N11 twice")
    let string = String(repeating: "x", count: 250 * 1024)
    try server.refuses(
      Array("{\"signedPayload\":\"\(string)\"}".utf8), 400, ["jws_segments"], "N11")
  }

  @Test func `N11: more members or values than any body needs are refused`() throws {
    let (server, authority) = try start()
    let rest = String(decoding: ForgedJWS.body(try authority.fresh()).dropFirst(), as: UTF8.self)
    let keys = { (count: Int) in (0..<count).map { "\"k\($0)\":1," }.joined() }
    try server.accepts(Array("{\(keys(127))\(rest)".utf8), "N11 members")
    try server.refuses(Array("{\(keys(128))\(rest)".utf8), 400, ["json"], "N11 members")
    let values = "\"a\":[" + String(repeating: "{},", count: 2050) + "1],"
    try server.refuses(Array("{\(values)\(rest)".utf8), 400, ["json"], "N11 values")
  }

  /// Names that are all different, and names that collide under a hash without a seed: anagrams of
  /// pairs with equal sums. Eight times as many keys would be 64 times the work if it were
  /// quadratic.
  @Test func `N11: the time to parse keys does not grow quadratically`() throws {
    let (server, _) = try start()
    let pairs = (0..<14).reduce([""]) { names, _ in names.flatMap { [$0 + "Aa", $0 + "BB"] } }
    for names in [(0..<16_000).map { "k\($0)" }, Array(pairs.prefix(7000))] {
      let seconds = try [names.count / 8, names.count].map { count in
        let keys = names.prefix(count).map { "\"\($0)\":1" }.joined(separator: ",")
        return try (0..<3).map { _ in
          try ContinuousClock().measure {
            try server.refuses(Array("{\(keys)}".utf8), 400, ["json"], "N11")
          }
        }.min() ?? .zero
      }
      #expect(seconds[1] < seconds[0] * 30, "\(names[0]): \(seconds)")
    }
  }

  @Test func `N13: unknown members are accepted`() throws {
    let (server, authority) = try start()
    for extra in [#""newField":{"a":[1,2]}"#, #""":"""#, #""version":"9.0""#, #""é":null"#] {
      let good = ForgedJWS.body(try authority.fresh())
      try server.accepts(Array("{\(extra),".utf8) + good.dropFirst(), "N13")
    }
  }

  @Test func `V1: a V1 body without a configured secret is untrusted`() throws {
    let (server, _) = try start()
    for body in [
      #"{"notification_type":"DID_RENEW","password":"guess","environment":"PROD","bid":"com.example.app"}"#,
      #"{"unified_receipt":{"status":0},"password":""}"#, #"{"notification_type":"CANCEL"}"#,
      #"{"notification_type":null,"password":["x"]}"#,
    ] {
      try server.refuses(Array(body.utf8), 401, ["v1_secret"], "V1")
    }
  }
}
