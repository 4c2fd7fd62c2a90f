import StrictJSON
import Support

/// N: bodies, before any signature is verified. Those that can carry a good notification do.
extension HostileTable {
  private static func around(
    _ hostile: HostileClient, _ bodies: [(String) -> String]
  ) throws -> [HostileRow.Variant] {
    try bodies.map { make in
      let body = make(String(decoding: try hostile.fresh(), as: UTF8.self))
      return .post(String(body.prefix(40)), body)
    }
  }

  private static func plain(_ bodies: [String]) -> [HostileRow.Variant] {
    bodies.map { .post(String($0.prefix(40)), $0) }
  }

  private static func keys(_ count: Int) -> String {
    (0..<count).map { "\"k\($0)\":1" }.joined(separator: ",")
  }

  static let json: [HostileRow] = [
    .refused("N1", 400, codes: ["json", "envelope"]) { _ in plain(["", " ", " \n\t\r\n "]) },
    .refused("N2", 400, codes: ["json", "envelope"]) { _ in
      plain(["[]", "\"x\"", "null", "1", "{}", "true"])
    },
    .refused("N3", 400, codes: ["json", "envelope"]) { _ in
      plain(["1", "null", "[]", "{}", "\"\"", "true"].map { "{\"signedPayload\":\($0)}" })
    },
    .refused("N4", 400, codes: ["json", "envelope"]) { hostile in
      try around(
        hostile,
        [
          { #"{"signedPayload":"\#($0)","signedPayload":"bad"}"# },
          { #"{"signedPayload":"bad","signedPayload":"\#($0)"}"# },
          { #"{"signedPayload":"bad","signed\u0050ayload":"\#($0)"}"# },
          { #"{"signed\u0050ayload":"\#($0)","signedPayload":"\#($0)"}"# },
          { #"{"signedPayload":"\#($0)","signedPayload":"\#($0)"}"# },
          { #"{"signedPayload":"\#($0)","a":{"b":1,"b":1}}"# },
        ])
    },
    .refused("N5", 400, codes: ["json", "envelope"]) { hostile in
      try around(
        hostile,
        [
          { #"{"signedPayload":"\#($0)","notification_type":"DID_RENEW"}"# },
          { #"{"unified_receipt":{},"password":"x","signedPayload":"\#($0)"}"# },
        ])
    },
    .refused("N6", 400, codes: ["json", "envelope"]) { hostile in
      try around(
        hostile,
        [
          { #"{"signedPayload":"\#($0)",}"# }, { #"{"signedPayload":"\#($0)"}// a"# },
          { #"{/* a */"signedPayload":"\#($0)"}"# }, { "{'signedPayload':'\($0)'}" },
          { #"{signedPayload:"\#($0)"}"# }, { #"{"signedPayload":"\#($0)"} x"# },
          { #"{"signedPayload":"\#($0)"}{"signedPayload":"\#($0)"}"# },
          { "{\"signedPayload\":\"\($0)\"}\n{\"signedPayload\":\"\($0)\"}\n" },
          { #"{"signedPayload":"\#($0)""# }, { _ in #"{"signedPayload":"# },
          { #"{"signedPayload" "\#($0)"}"# },
          { #"{"signedPayload":"\#($0)","a":1,,"b":2}"# }, { #"{"signedPayload":"\#($0)"}]"# },
          { "\u{A0}{\"signedPayload\":\"\($0)\"}" }, { "\u{0}{\"signedPayload\":\"\($0)\"}" },
        ])
    },
    .refused("N7", 400, codes: ["json"]) { hostile in
      let good = ForgedJWS.body(try hostile.fresh())
      let bads: [[UInt8]] = [
        [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0x80],
        Array(#"\ud800"#.utf8), Array(#"\udc00\ud800"#.utf8), Array(#"\ud800\u0041"#.utf8),
      ]
      let inside = bads.map { bad -> [UInt8] in
        Array(#"{"a":""#.utf8) + bad + Array(#"","#.utf8) + good.dropFirst()
      }
      let big = good.flatMap { byte -> [UInt8] in [0, byte] }
      let little = good.flatMap { byte -> [UInt8] in [byte, 0] }
      let whole: [[UInt8]] = [
        [0xEF, 0xBB, 0xBF] + good, big, little, [0xFE, 0xFF] + big, [0xFF, 0xFE] + little,
      ]
      return (inside + whole).map { .post("bytes \($0.prefix(12))", $0) }
    },
    .refused("N8", 400, codes: ["json"]) { hostile in
      let open = { String(repeating: "[", count: $0) }
      return plain([33, 1000, 100_000].map(open) + [String(repeating: "{\"a\":", count: 40_000)])
        + (try around(
          hostile,
          [
            {
              "{\"a\":\(open(32) + String(repeating: "]", count: 32)),\"signedPayload\":\"\($0)\"}"
            }
          ]
        ))
    },
    .refused("N9", 400, codes: ["json"]) { hostile in
      try around(
        hostile,
        [
          "1e999999", "1e400", "-1e99999999999999999999", "NaN", "Infinity", "-Infinity", "01",
          "1.", ".5", "+1", "0x10", "1e", "--1", "-", String(repeating: "9", count: 100_000),
        ].map { number in { "{\"a\":\(number),\"signedPayload\":\"\($0)\"}" } })
    },
    .refused("N9", 413, codes: ["too_large"]) { _ in
      plain(["{\"a\":\(String(repeating: "9", count: 1_000_000))}"])
    },
    .accepted("N9") { hostile in try around(hostile, [{ "{\"a\":-0,\"signedPayload\":\"\($0)\"}" }])
    },
    .refused("N10", 400, codes: ["json"]) { hostile in
      try around(
        hostile,
        ["\n", "\t", "\u{0}", "\u{1F}"].map { control in
          { "{\"a\":\"\(control)\",\"signedPayload\":\"\($0)\"}" }
        })
    },
    .quarantined("N10b", codes: ["nul_in_identifier"]) { hostile in
      let nul = JSONValue.string("1\u{0}2")
      return try [
        hostile.notification().setting("notificationUUID", nul),
        hostile.notification().setting("data.bundleId", nul),
        hostile.notification().setting("data.transaction.originalTransactionId", nul)
          .setting("data.renewalInfo.originalTransactionId", nul),
      ].map { .jws("NUL", try hostile.authority.signed($0)) }
    },
    .quarantined("N10b") { hostile in
      let nul = JSONValue.string("1\u{0}2")
      let signed = [
        hostile.notification().setting("data.environment", nul),
        hostile.notification().setting("notificationType", nul),
      ]
      let text = hostile.notification().text.dropFirst()
      let raw = [
        #"{"notificationType":"TEST","#, "{\"a\":\"\n\",", "{\"a\":\"\u{0}\",", #"{"a":"\ud800","#,
        "{\"a\":\(String(repeating: "[", count: 33) + String(repeating: "]", count: 33)),",
        #"{"a":01,"#, #"{"a":NaN,"#, #"{"a":1e999999,"#, "\u{FEFF}{",
      ].map { Array(($0 + text).utf8) }
      return try signed.map { .jws("NUL", try hostile.authority.signed($0)) }
        + raw.map { .jws("payload", try hostile.sign(payload: $0)) }
    },
    .refused("N11", 400, 413) { hostile in
      let pairs = (0..<13).reduce([""]) { names, _ in names.flatMap { [$0 + "Aa", $0 + "BB"] } }
      let alike = pairs.prefix(7000).map { "\"\($0)\":1" }.joined(separator: ",")
      let long = String(repeating: "x", count: 250 * 1024)
      return plain([
        "{\(keys(100_000))}", "{\(keys(20_000))}", "{\(keys(20_000)),\"\\u006b1\":2}", "{\(alike)}",
        "{\"signedPayload\":\"\(long)\"}", "{\"\(long)\":1}",
      ])
    },
    // More members or values than any body needs.
    .accepted("N11") { hostile in
      try around(hostile, [{ "{\(keys(127)),\"signedPayload\":\"\($0)\"}" }])
    },
    .refused("N11", 400, codes: ["json"]) { hostile in
      let values = String(repeating: "{},", count: 2050)
      return try around(
        hostile,
        [
          { "{\(keys(128)),\"signedPayload\":\"\($0)\"}" },
          { "{\(keys(20_000)),\"\\u006b1\":2,\"signedPayload\":\"\($0)\"}" },
          { "{\"a\":[\(values)1],\"signedPayload\":\"\($0)\"}" },
        ])
    },
    .refused("N12", 400, codes: ["json", "envelope"]) { hostile in
      try around(
        hostile,
        ["SignedPayload", "signedpayload", "SIGNEDPAYLOAD", "signed_payload", "signedPayload "]
          .map { name in { "{\"\(name)\":\"\($0)\"}" } })
    },
    .accepted("N13") { hostile in
      try around(
        hostile,
        [#""newField":{"a":[1,2]}"#, #""":"""#, #""version":"9.0""#, #""é":null"#].map { extra in
          { "{\(extra),\"signedPayload\":\"\($0)\"}" }
        })
    },
  ]
}
