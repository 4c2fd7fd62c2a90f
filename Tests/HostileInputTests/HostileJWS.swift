import AppStoreSimulator
import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// J: signed payloads. Each is signed by the trusted authority and wrong in exactly one respect.
extension HostileTable {
  private typealias Parts = [[UInt8]]

  private static func jws(_ rows: [[UInt8]]) -> [HostileRow.Variant] {
    rows.enumerated().map { .jws("\($0.offset)", $0.element) }
  }

  /// A good payload under each of these headers, with a signature that covers the header.
  private static func headers(_ hostile: HostileClient, _ headers: [String]) throws -> [HostileRow
    .Variant]
  {
    try headers.map { .jws(String($0.prefix(60)), try hostile.fresh(header: Array($0.utf8))) }
  }

  /// A good header with each of these members, and each with `alg` alone.
  private static func members(
    _ hostile: HostileClient, _ members: [String]
  ) throws -> [HostileRow.Variant] {
    try headers(
      hostile,
      members.flatMap { [header(hostile, extra: ",\($0)"), "{\"alg\":\"ES256\",\($0)}"] })
  }

  private static func header(
    _ hostile: HostileClient, alg: String = "\"ES256\"", extra: String = ""
  )
    -> String
  {
    String(
      decoding: ForgedJWS.header(hostile.authority.chain, alg: alg, extra: extra), as: UTF8.self)
  }

  /// A good payload with other signatures.
  private static func resigned(
    _ hostile: HostileClient, _ change: ([UInt8]) -> [[UInt8]]
  ) throws -> [HostileRow.Variant] {
    let good = try hostile.fresh()
    return jws(change(ForgedJWS.signature(good)).map { ForgedJWS.resigned(good, $0) })
  }

  private static func withOtherS(_ jws: [UInt8]) -> [UInt8] {
    let signature = ForgedJWS.signature(jws)
    let s = P256Arithmetic.minus(P256Arithmetic.order, Array(signature.suffix(32)))
    return ForgedJWS.resigned(jws, signature.prefix(32) + s)
  }

  /// A genuine notification with this text in place of a nested JWS.
  private static func outer(
    _ hostile: HostileClient, _ nested: [UInt8], _ member: String = "data.signedTransactionInfo"
  ) throws -> HostileRow.Variant {
    let text = JSONValue.string(String(decoding: nested, as: UTF8.self))
    let notification = hostile.notification().setting("data.transaction", nil)
      .setting("data.renewalInfo", nil).setting(member, text)
    return .jws(member, try hostile.authority.signed(notification))
  }

  private static func bothMembers(
    _ hostile: HostileClient, _ nested: [[UInt8]]
  ) throws -> [HostileRow.Variant] {
    try nested.flatMap {
      [try outer(hostile, $0), try outer(hostile, $0, "data.signedRenewalInfo")]
    }
  }

  private static func transaction(_ hostile: HostileClient) -> JSONValue {
    hostile.notification()["data"]?["transaction"] ?? .null
  }

  static let jws = [forms, algorithms, changed, encodings, nested, proven].flatMap { $0 }

  private static let forms: [HostileRow] = [
    .refused("J1", 400) { hostile in
      let parts = ForgedJWS.parts(try hostile.fresh())
      let (header, payload, signature) = (parts[0], parts[1], parts[2])
      return jws([
        Array("a.b.c".utf8), Array("a.b.c.d".utf8), Array("a.b".utf8), Array("..".utf8),
        Array(".x.".utf8), Array("....".utf8), Array(".".utf8), Array("x".utf8), header,
        ForgedJWS.joined(header, payload),
        ForgedJWS.joined([], payload, signature), ForgedJWS.joined(header, [], signature),
        ForgedJWS.joined(header, [], []), ForgedJWS.joined(header, payload, signature, []),
        // A JWE has five parts (RFC 7516).
        ForgedJWS.joined(header, payload, signature, payload, signature),
        ForgedJWS.joined(header, payload, signature + header, payload, signature),
        ForgedJWS.joined([], header, payload, signature),
      ])
    },
    .refused("J2", 400) { hostile in
      let parts = ForgedJWS.parts(try hostile.fresh()).map { String(decoding: $0, as: UTF8.self) }
      let flat =
        #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#
      let general =
        #"{"payload":"\#(parts[1])","signatures":[{"protected":"\#(parts[0])","#
        + #""signature":"\#(parts[2])"}]}"#
      // CVE-2022-39227: one text that is JSON to one parser and compact to another.
      let both = #"{\"  \#(parts[0]).e30.\":\"\",\"payload\":\"\#(parts[1])\"}"#
      return [
        flat, general, "{\"signedPayload\":\(flat)}", "{\"signedPayload\":\(general)}",
        "{\"signedPayload\":\"\(both)\"}",
        "{\"signedPayload\":\"\(flat.replacing("\"", with: "\\\""))\"}",
      ].map { .post("JSON", $0) }
    },
  ]

  private static let algorithms: [HostileRow] = [
    .refused("J3", 401, codes: ["jws_alg"]) { hostile in
      try ["none", "None", "NONE", "nOnE", ""].flatMap { name in
        let signed = try hostile.fresh(header: Array(header(hostile, alg: "\"\(name)\"").utf8))
        let parts = ForgedJWS.parts(signed)
        return jws([signed, ForgedJWS.joined(parts[0], parts[1], [])])
      }
    },
    .refused("J4", 401, codes: ["jws_alg", "signature"]) { hostile in
      let key = try hostile.authority.leafKey.publicKey()
      let leaf = hostile.authority.chain[0]
      let secrets = [
        key, CertificateMaker.pem(key), leaf, Array(ForgedJWS.base64(leaf).utf8),
        Array(ForgedJWS.base64(key).utf8), [],
      ]
      return try secrets.flatMap { secret in
        let parts = ForgedJWS.parts(
          try hostile.fresh(header: Array(header(hostile, alg: "\"HS256\"").utf8)))
        let input = ForgedJWS.joined(parts[0], parts[1])
        let code = hmac(secret, input)
        let good = ForgedJWS.parts(try hostile.fresh())
        return jws([
          ForgedJWS.joined(input, ForgedJWS.url(code)),
          ForgedJWS.joined(good[0], good[1], ForgedJWS.url(code + code)),
        ])
      }
    },
    .refused("J5", 401, codes: ["jws_alg"]) { hostile in
      let names = [
        "RS256", "PS256", "ES384", "ES512", "ES256K", "EdDSA", "es256", "ES256 ", "ES256\\u0000",
        "HS256", "ES2\\u00356\\n",
      ]
      return try headers(hostile, names.map { header(hostile, alg: "\"\($0)\"") })
        + headers(hostile, [header(hostile).replacing(#""alg":"ES256","#, with: "")])
    },
    .refused("J5", 400, codes: ["jws_alg_type"]) { hostile in
      try headers(
        hostile, ["null", "[\"ES256\"]", "256", "{}", "true"].map { header(hostile, alg: $0) })
    },
  ]

  private static let changed: [HostileRow] = [
    .refused("J6", 401, codes: ["signature"]) { hostile in
      try (0..<3).map { _ in
        let parts = ForgedJWS.parts(try hostile.fresh())
        let other = ForgedJWS.url(hostile.notification().bytes)
        return .jws("payload", ForgedJWS.joined(parts[0], other, parts[2]))
      }
    },
    .refused("J7", 401, codes: ["signature"]) { hostile in
      let parts = ForgedJWS.parts(try hostile.fresh())
      return [#","typ":"JWT""#, #","a":1"#, " "].map { extra in
        let other = ForgedJWS.url(Array(header(hostile, extra: extra).utf8))
        return .jws("header", ForgedJWS.joined(other, parts[1], parts[2]))
      }
    },
    // `SignatureTests` flips all 512 bits.
    .refused("J8", 401, codes: ["signature"]) { hostile in
      try resigned(hostile) { signature in
        stride(from: 0, to: 512, by: 9).map { bit in
          var flipped = signature
          flipped[bit / 8] ^= 1 << (bit % 8)
          return flipped
        }
      }
    },
    .refused("J9", 401, codes: ["signature"]) { hostile in
      let header = ForgedJWS.header(hostile.authority.chain)
      return try (0..<2).map { _ in
        .jws("key", try hostile.fresh(header: header, key: SigningKey.generate(.p256)))
      }
    },
    .refused("J10", 401, codes: ["signature"]) { hostile in
      try resigned(hostile) { signature in
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let (none, zero): ([UInt8], [UInt8]) = ([], [0])
        return [
          none, zero, Array(signature.prefix(63)), signature + zero, zero + signature,
          signature + r, signature + signature, Array(signature.dropFirst()),
          [UInt8](repeating: 0, count: 65),
          // The same two numbers with leading zeros.
          zero + r + zero + s, r + zero + s,
        ]
      }
    },
    .refused("J11", 401, codes: ["signature"]) { hostile in
      let input = ForgedJWS.joined(
        ForgedJWS.url(ForgedJWS.header(hostile.authority.chain)),
        ForgedJWS.url(hostile.notification().bytes))
      let key = hostile.authority.leafKey
      let others = try [SigningKey.Digest.sha1, .sha384, .sha512].map {
        try key.sign(input, digest: $0)
      }
      let signatures = others + [try key.signDER(input, digest: .sha256)]
      return jws(signatures.map { ForgedJWS.joined(input, ForgedJWS.url($0)) })
        + (try resigned(hostile) { signature in
          [
            DERWriter.sequence(
              DERWriter.integer(Array(signature.prefix(32))),
              DERWriter.integer(Array(signature.suffix(32))))
          ]
        })
    },
    .refused("J12", 401, codes: ["signature"]) { hostile in
      try resigned(hostile) { signature in
        let n = P256Arithmetic.order
        let odd = [
          P256Arithmetic.number(0), P256Arithmetic.number(1),
          P256Arithmetic.minus(n, P256Arithmetic.number(1)), n,
          P256Arithmetic.plus(n, P256Arithmetic.number(1)),
          P256Arithmetic.minus(P256Arithmetic.prime, P256Arithmetic.number(1)),
          P256Arithmetic.prime, P256Arithmetic.plus(P256Arithmetic.prime, P256Arithmetic.number(1)),
          [UInt8](repeating: 0xFF, count: 32),
        ]
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        return odd.flatMap { one in odd.map { one + $0 } } + odd.flatMap { [$0 + s, r + $0] }
      }
    },
    .refused("J13", 401, codes: ["signature"]) { hostile in
      try resigned(hostile) { signature in
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let n = P256Arithmetic.order
        return [
          s + r, P256Arithmetic.plus(r, n) + s, r + P256Arithmetic.plus(s, n),
          P256Arithmetic.minus(n, r) + s,
          P256Arithmetic.minus([UInt8](repeating: 0xFF, count: 32), r) + s,
          P256Arithmetic.minus(n, r) + P256Arithmetic.minus(n, s),
        ]
      }
    },
    .coveredBy("J14", "SignatureTests"),
    .refused("J15", 401, codes: ["jws_crit"]) { hostile in
      try members(
        hostile,
        [
          #""crit":["exp"],"exp":1"#, #""crit":[]"#, #""crit":["x5c"]"#, #""crit":["nowhere"]"#,
          #""crit":null"#, #""\u0063rit":["exp"]"#,
        ])
    },
    .refused(
      "J16", 401, codes: ["jws_b64", "jws_crit", "jws_zip", "jws_enc", "jws_epk"]
    ) { hostile in
      try members(
        hostile,
        [
          #""b64":false"#, #""b64":false,"crit":["b64"]"#, #""b64":true"#, #""zip":"DEF""#,
          #""enc":"A256GCM""#, #""epk":{}"#,
        ])
    },
    .refused("J17", 401, codes: ["jws_jwk", "jws_jku", "jws_x5u"]) { hostile in
      let key = ForgedJWS.base64(try hostile.authority.leafKey.publicKey())
      return try members(
        hostile,
        [
          #""jwk":{"kty":"EC","crv":"P-256","x":"\#(key)","y":"\#(key)"}"#,
          #""jku":"http://127.0.0.1:1/k""#, #""x5u":"http://127.0.0.1:1/x.pem""#,
        ])
    },
    .accepted("J17b") { hostile in
      try headers(hostile, HeaderMembers.unknown.map { header(hostile, extra: "," + $0) })
    },
  ]

  private static let encodings: [HostileRow] = [
    .refused("J18", 400) { hostile in
      let good = ForgedJWS.parts(try hostile.fresh())
      var rows: [[UInt8]] = []
      for index in 0..<3 {
        for stray in ["=", "==", "+", "/", "?", " ", "%", "\u{7F}", "é", "\\n", "*", "-_="] {
          var parts = good
          parts[index] += Array(stray.utf8)
          rows.append(ForgedJWS.joined(parts[0], parts[1], parts[2]))
          parts[index] = Array(stray.utf8) + good[index]
          rows.append(ForgedJWS.joined(parts[0], parts[1], parts[2]))
        }
        var short = good
        while short[index].count % 4 != 1 { short[index].append(UInt8(ascii: "A")) }
        rows.append(ForgedJWS.joined(short[0], short[1], short[2]))
      }
      return jws(rows)
    },
    // The last letter of the signature has four unused bits.
    .refused("J18", 400, codes: ["jws_base64url"]) { hostile in
      let good = ForgedJWS.parts(try hostile.fresh())
      let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
      let last = letters.firstIndex(of: good[2].last ?? 0) ?? 0
      return jws(
        (1...15).map {
          ForgedJWS.joined(good[0], good[1], good[2].dropLast() + [letters[last | $0]])
        })
    },
    .refused("J19", 400, codes: ["jws_header"]) { hostile in
      let x5c = hostile.authority.chain.map { "\"\(ForgedJWS.base64($0))\"" }.joined(separator: ",")
      return try headers(
        hostile,
        [
          #"{"alg":"ES256","alg":"ES256","x5c":[\#(x5c)]}"#,
          #"{"alg":"none","alg":"ES256","x5c":[\#(x5c)]}"#,
          #"{"alg":"ES256","x5c":[],"x5c":[\#(x5c)]}"#,
          #"{"alg":"ES256","x5c":[\#(x5c)],"x5c":[]}"#, "",
          #"{"alg":"ES256","x5c":[],"\u0078\u0035c":[\#(x5c)]}"#, "[\"ES256\"]", "\"ES256\"",
          "null", "{", #"{"alg":"ES256","x5c":[\#(x5c)]} x"#, "\u{FEFF}{}",
          String(repeating: " ", count: 150 * 1024) + header(hostile),
        ])
    },
    .refused("J19", 413, codes: ["too_large"]) { hostile in
      try headers(hostile, [String(repeating: " ", count: 200 * 1024) + header(hostile)])
    },
    .accepted("J20") { hostile in
      let x5c = hostile.authority.chain.map { "\"\(ForgedJWS.base64($0))\"" }.joined(
        separator: " ,\n ")
      return try headers(
        hostile,
        [
          "{ \"x5c\" : [ \(x5c) ] ,\r\n\t\"alg\" : \"ES256\" }",
          "{\"typ\":\"JWT\",\"alg\":\"ES\\u003256\",\"x5c\":[\(x5c)]}",
        ])
    },
    .scripted("J21") { hostile in
      let good = try hostile.fresh()
      try hostile.accepts("J21", .jws("first", good))
      let before = try hostile.state()
      let answer = hostile.daemon.client().post(ForgedJWS.body(withOtherS(good)))
      #expect(answer?.json?["outcome"]?.string == "duplicate", "J21")
      #expect(try hostile.state() == before, "J21")
    },
    .accepted("J22") { hostile in try jws((0..<4).map { _ in withOtherS(try hostile.fresh()) }) },
    .quarantined("J23") { hostile in
      try [
        "", "x", "[]", "null", "1", "\"{}\"", "{", "{}", "{\"a\":1,\"a\":2}", "\u{FEFF}{}",
        String(repeating: "[", count: 5000),
      ].map {
        .jws(String($0.prefix(9)), try hostile.sign(payload: Array($0.utf8)))
      }
    },
    .refused("J24", 413, codes: ["too_large"], closes: true) { hostile in
      let long = hostile.notification().setting(
        "x", .string(String(repeating: "x", count: 300 * 1024)))
      return jws([try hostile.authority.signed(long)])
    },
  ]

  // MARK: Nested JWS

  private static let nested: [HostileRow] = [
    .refused("J25", 401) { hostile in
      let good = try hostile.sign(payload: transaction(hostile).bytes)
      let parts = ForgedJWS.parts(good)
      let richer = ForgedJWS.url(transaction(hostile).setting("price", .integer(1)).bytes)
      let none = ForgedJWS.url(ForgedJWS.header(hostile.authority.chain, alg: "\"none\""))
      let stranger = try Authority()
      let rows: [[UInt8]] = [
        ForgedJWS.joined(parts[0], richer, parts[2]), ForgedJWS.joined(none, parts[1], []),
        try ForgedJWS.jws(
          header: ForgedJWS.header(stranger.chain), payload: transaction(hostile).bytes,
          key: stranger.leafKey), Array("x".utf8), [],
        Array("..".utf8), parts[1], good + [UInt8(ascii: "=")],
        ForgedJWS.joined(parts[0], parts[1], []),
        ForgedJWS.joined(parts[0], [], parts[2]),
      ]
      return try bothMembers(hostile, rows)
    },
    .refused("J25", 401, codes: ["nested_chain_dates"]) { hostile in
      let dated = try [2_600_000_000_000, Int64.min].map { date in
        try hostile.sign(payload: transaction(hostile).setting("signedDate", .integer(date)).bytes)
      }
      return try bothMembers(hostile, dated)
    },
    .accepted("J25") { hostile in
      let rotated = try ChainForgery(under: hostile.authority)
      let payload = transaction(hostile)
      let jws = try ForgedJWS.jws(
        header: ForgedJWS.header(try rotated.chain()), payload: payload.bytes, key: rotated.leafKey)
      return [try outer(hostile, jws)]
    },
    .quarantined("J26") { hostile in
      let rows: [(String, JSONValue?)] = [
        ("data.transaction.originalTransactionId", .string("7999")),
        ("data.renewalInfo.originalTransactionId", .string("7999")),
        ("data.transaction.bundleId", .string("com.example.other")),
        ("data.transaction.bundleId", nil), ("data.transaction.environment", .string("Sandbox")),
        ("data.transaction.environment", nil), ("data.renewalInfo.environment", .string("Sandbox")),
        ("data.renewalInfo.environment", nil), ("data.transaction", .integer(1)),
        ("data.bundleId", .string("com.example.sandbox")),
        ("data.renewalInfo", .array([])),
      ]
      return try rows.map { path, value in
        .jws(path, try hostile.authority.signed(hostile.notification().setting(path, value)))
      }
    },
    .quarantined("J26", codes: ["nested_jws"]) { hostile in
      try [JSONValue.integer(1), .object([]), .string("\u{1}")].map { wrong in
        let changed = hostile.notification().setting("data.transaction", nil)
          .setting("data.signedTransactionInfo", wrong)
        return .jws("wrong", try hostile.authority.signed(changed))
      }
    },
    .quarantined("J27") { hostile in
      let appTransaction = JSONValue.object([
        ("receiptType", .string("Production")), ("bundleId", .string("com.example.app")),
        ("appAppleId", .integer(123_456_789)), ("receiptCreationDate", .integer(Sample.start)),
      ])
      let data = hostile.notification()["data"] ?? .null
      var rows = try [data["transaction"], data["renewalInfo"], appTransaction, data].compactMap {
        try $0.map { try hostile.sign(payload: $0.bytes) }
      }.map { HostileRow.Variant.jws("alone", $0) }
      rows.append(try outer(hostile, try hostile.fresh()))
      return rows
    },
    .refused("J28", 401) { hostile in
      let key = try SigningKey.generate(.p256)
      var maker = try CertificateMaker.leaf(key, issuer: try .root(key), issuerKey: key)
      maker.issuer = maker.subject
      let der = try maker.make(for: key, signedBy: key)
      return try ["Xcode", "LocalTesting", "Production"].flatMap { environment in
        let payload = hostile.notification().setting("data.environment", .string(environment)).bytes
        return jws([
          try ForgedJWS.jws(header: ForgedJWS.header([der]), payload: payload, key: key),
          try ForgedJWS.jws(header: ForgedJWS.header([der, der, der]), payload: payload, key: key),
        ])
      }
    },
  ]

  // MARK: Content of a proven payload

  private static let proven: [HostileRow] = [
    // Limits hold until a payload is proven.
    .accepted("J29") { hostile in
      let many = JSONValue.array((0..<3000).map { .integer($0) })
      let wide = JSONValue.object((0..<200).map { ("n\($0)", .integer($0)) })
      return try ["extra", "data.extra", "data.transaction.extra", "data.renewalInfo.extra"]
        .flatMap { member in
          try [many, wide].map {
            .jws(member, try hostile.authority.signed(hostile.notification().setting(member, $0)))
          }
        }
    },
    // A nested JWS or content object that is null is absent.
    .accepted("J30") { hostile in
      let changed = [
        hostile.notification().setting("data.transaction", nil)
          .setting("data.signedTransactionInfo", .null),
        hostile.notification().setting("data.renewalInfo", nil)
          .setting("data.signedRenewalInfo", .null),
        hostile.notification().setting("summary", .null),
      ]
      return try changed.map { .jws("null", try hostile.authority.signed($0)) }
    },
    .accepted("J31") { hostile in [try appTransaction(hostile, appAppleId: 123_456_789)] },
    .quarantined("J31", codes: ["nested_app_apple_id"]) { hostile in
      [try appTransaction(hostile, appAppleId: 987)]
    },
    // A payload with many members is judged as of its own date.
    .accepted("J32") { hostile in
      var expired = try ChainForgery(under: hostile.authority)
      (expired.leaf.notBefore, expired.leaf.notAfter) = (
        Sample.start - 1_000_000, Sample.start + 1_000_000
      )
      let payload = wide(hostile, Sample.start).setting("data.transaction", nil)
        .setting("data.renewalInfo", nil).bytes
      let jws = try ForgedJWS.jws(
        header: ForgedJWS.header(try expired.chain()), payload: payload, key: expired.leafKey)
      return [
        .jws("many", try hostile.authority.signed(wide(hostile, Sample.start))),
        .jws("expired since", jws),
      ]
    },
    .refused("J32", 401, codes: ["chain_dates"]) { hostile in
      [.jws("long ago", try hostile.sign(payload: wide(hostile, 1).bytes))]
    },
  ]

  private static func wide(_ hostile: HostileClient, _ date: Int64) -> JSONValue {
    (0..<200).reduce(hostile.notification().setting("signedDate", .integer(date))) {
      $0.setting("k\($1)", .integer(1))
    }
  }

  /// A notification of our app about an app transaction with this app id.
  private static func appTransaction(
    _ hostile: HostileClient, appAppleId: Int64
  ) throws -> HostileRow.Variant {
    let transaction = JSONValue.object([
      ("receiptType", .string("Production")), ("bundleId", .string("com.example.app")),
      ("appAppleId", .integer(appAppleId)), ("receiptCreationDate", .integer(Sample.start)),
    ])
    let data = JSONValue.object([
      ("appAppleId", .integer(123_456_789)), ("bundleId", .string("com.example.app")),
      ("environment", .string("Production")), ("appTransaction", transaction),
    ])
    let notification = hostile.notification().setting("data", nil).setting("appData", data)
      .setting("notificationType", .string("RESCIND_CONSENT"))
    return .jws("\(appAppleId)", try hostile.authority.signed(notification))
  }

  /// RFC 2104.
  private static func hmac(_ secret: [UInt8], _ text: [UInt8]) -> [UInt8] {
    var key = secret.count > 64 ? SHA256.hash(secret) : secret
    key += [UInt8](repeating: 0, count: 64 - key.count)
    let inner = SHA256.hash(key.map { $0 ^ 0x36 } + text)
    return SHA256.hash(key.map { $0 ^ 0x5C } + inner)
  }
}
