import AppStoreSimulator
import SignedData
import StrictJSON
import Support
import Testing

/// Rows J1 to J5, J15 to J20, J23 to J28 of the hostile inputs: the form of a JWS, its header, and
/// nested JWS.
@Suite struct JWSTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  @Test func `J1: a JWS without exactly three segments is malformed`() throws {
    let good = try authority.fresh()
    let parts = ForgedJWS.parts(good)
    let (header, payload, signature) = (parts[0], parts[1], parts[2])
    let rows: [[UInt8]] = [
      Array("a.b.c".utf8), Array("a.b.c.d".utf8), Array("a.b".utf8), Array("..".utf8),
      Array(".x.".utf8), Array(".".utf8), Array("x".utf8), Array("....".utf8),
      header, ForgedJWS.joined(header, payload), ForgedJWS.joined(header, payload, signature, []),
      ForgedJWS.joined([], payload, signature), good + good, [UInt8(ascii: ".")] + good,
      // A JWE has five parts (RFC 7516).
      ForgedJWS.joined(header, payload, signature, payload, signature),
    ]
    for row in rows { try server.refuses(signedPayload: row, 400, [], "J1") }
    try server.refuses(
      signedPayload: ForgedJWS.joined(header, [], signature), 400, ["jws_segments"], "J1")
    // An empty signature is well-formed but not valid.
    try server.refuses(
      signedPayload: ForgedJWS.joined(header, payload, []), 401, ["signature"], "J1")
  }

  @Test func `J2: a JWS in JSON serialisation is malformed`() throws {
    let parts = ForgedJWS.parts(try authority.fresh()).map { String(decoding: $0, as: UTF8.self) }
    let flat =
      #"{"protected":"\#(parts[0])","payload":"\#(parts[1])","signature":"\#(parts[2])"}"#
    let general =
      #"{"payload":"\#(parts[1])","signatures":[{"protected":"\#(parts[0])","#
      + #""signature":"\#(parts[2])"}]}"#
    // CVE-2022-39227: one text that is JSON to one parser and compact to another.
    let both = #"{\"  \#(parts[0]).e30.\":\"\",\"payload\":\"\#(parts[1])\"}"#
    for body in [
      flat, general, "{\"signedPayload\":\(flat)}", "{\"signedPayload\":\(general)}",
      "{\"signedPayload\":\"\(both)\"}",
      "{\"signedPayload\":\"\(flat.replacing("\"", with: "\\\""))\"}",
    ] {
      try server.refuses(Array(body.utf8), 400, ["envelope", "json"], "J2")
    }
  }

  @Test func `J3, J5: only the algorithm ES256 is accepted`() throws {
    let chain = authority.chain
    for name in ["none", "None", "NONE", "nOnE", ""] {
      let header = ForgedJWS.header(chain, alg: "\"\(name)\"")
      let signed = try authority.fresh(header: header)
      let parts = ForgedJWS.parts(signed)
      try server.refuses(signedPayload: signed, 401, ["jws_alg"], "J3 \(name)")
      try server.refuses(
        signedPayload: ForgedJWS.joined(parts[0], parts[1], []), 401, ["jws_alg"], "J3 \(name)")
    }
    for name in [
      "RS256", "PS256", "ES384", "ES512", "ES256K", "EdDSA", "es256", "ES256 ", "HS256",
      "ES256\\u0000", "ES2\\u00356\\n",
    ] {
      let header = ForgedJWS.header(chain, alg: "\"\(name)\"")
      try server.refuses(
        signedPayload: try authority.fresh(header: header), 401, ["jws_alg"], "J5 \(name)")
    }
    for wrong in ["null", "[\"ES256\"]", "256", "{}", "true"] {
      let header = ForgedJWS.header(chain, alg: wrong)
      try server.refuses(
        signedPayload: try authority.fresh(header: header), 400, ["jws_alg_type"], "J5 \(wrong)")
    }
    let none = Array("{\"x5c\":[\"\(ForgedJWS.base64(chain[0]))\"]}".utf8)
    try server.refuses(signedPayload: try authority.fresh(header: none), 401, ["jws_alg"], "J5")
  }

  @Test func `J4: a public key used as an HMAC secret is refused`() throws {
    let header = ForgedJWS.header(authority.chain, alg: "\"HS256\"")
    let parts = ForgedJWS.parts(try authority.fresh(header: header))
    let input = ForgedJWS.joined(parts[0], parts[1])
    let key = try authority.leafKey.publicKey()
    let secrets = [
      key, CertificateMaker.pem(key), authority.chain[0],
      Array(ForgedJWS.base64(authority.chain[0]).utf8), Array(ForgedJWS.base64(key).utf8), [],
    ]
    for secret in secrets {
      let code = Self.hmac(secret, input)
      try server.refuses(
        signedPayload: ForgedJWS.joined(input, ForgedJWS.url(code)), 401, ["jws_alg"], "J4")
      // The same code, claimed to be ES256: 32 bytes, then doubled to 64.
      let good = ForgedJWS.parts(try authority.fresh())
      let tried = ForgedJWS.joined(good[0], good[1], ForgedJWS.url(code + code))
      try server.refuses(signedPayload: tried, 401, ["signature"], "J4")
    }
  }

  /// RFC 2104.
  private static func hmac(_ secret: [UInt8], _ text: [UInt8]) -> [UInt8] {
    var key = secret.count > 64 ? SHA256.hash(secret) : secret
    key += [UInt8](repeating: 0, count: 64 - key.count)
    let inner = SHA256.hash(key.map { $0 ^ 0x36 } + text)
    return SHA256.hash(key.map { $0 ^ 0x5C } + inner)
  }

  @Test func `J15 to J17: header members that change what is verified are refused`() throws {
    let key = ForgedJWS.base64(try authority.leafKey.publicKey())
    let members = [
      ("J15", #""crit":["exp"],"exp":1"#), ("J15", #""crit":[]"#), ("J15", #""crit":["x5c"]"#),
      ("J15", #""crit":["nowhere"]"#), ("J15", #""crit":null"#),
      ("J16", #""b64":false"#), ("J16", #""b64":false,"crit":["b64"]"#), ("J16", #""b64":true"#),
      ("J16", #""zip":"DEF""#), ("J16", #""enc":"A256GCM""#), ("J16", #""epk":{}"#),
      ("J17", #""jwk":{"kty":"EC","crv":"P-256","x":"\#(key)","y":"\#(key)"}"#),
      ("J17", #""jku":"http://127.0.0.1:1/keys""#), ("J17", #""x5u":"http://127.0.0.1:1/x.pem""#),
    ]
    for (row, member) in members {
      let header = ForgedJWS.header(authority.chain, extra: "," + member)
      try server.refuses(
        signedPayload: try authority.fresh(header: header), 401, [], "\(row) \(member)")
      let alone = Array("{\"alg\":\"ES256\",\(member)}".utf8)
      try server.refuses(signedPayload: try authority.fresh(header: alone), 401, [], row)
    }
    // An escaped name is the same name.
    let hidden = ForgedJWS.header(authority.chain, extra: #","\u0063rit":["exp"]"#)
    try server.refuses(signedPayload: try authority.fresh(header: hidden), 401, ["jws_crit"], "J15")
  }

  @Test func `J17b: header members that nobody knows are ignored`() throws {
    for member in HeaderMembers.unknown {
      let header = ForgedJWS.header(authority.chain, extra: "," + member)
      try server.accepts(signedPayload: try authority.fresh(header: header), "J17b \(member)")
    }
  }

  /// Limits hold until a payload is proven (promise 2).
  @Test func `a genuine payload with more values than an unproven text may have is accepted`()
    throws
  {
    let many = JSONValue.array((0..<3000).map { .integer($0) })
    let wide = JSONValue.object((0..<200).map { ("n\($0)", .integer($0)) })
    for member in ["extra", "data.extra", "data.transaction.extra", "data.renewalInfo.extra"] {
      for value in [many, wide] {
        let notification = Sample.notification().with(member, value)
        try server.accepts(signedPayload: try authority.signed(notification), member)
      }
    }
  }

  @Test func `J18: base64url is read strictly`() throws {
    let good = try authority.fresh()
    let parts = ForgedJWS.parts(good)
    let strays = ["=", "==", "+", "/", "?", " ", "%", "\u{7F}", "é", "\\n", "\\u0041", "-_=", "*"]
    for index in 0..<3 {
      for stray in strays {
        for isFirst in [true, false] {
          var changed = parts
          changed[index] =
            isFirst ? Array(stray.utf8) + changed[index] : changed[index] + Array(stray.utf8)
          let jws = ForgedJWS.joined(changed[0], changed[1], changed[2])
          try server.refuses(signedPayload: jws, 400, [], "J18 \(stray) at \(index)")
        }
      }
      var short = parts
      while short[index].count % 4 != 1 { short[index].append(UInt8(ascii: "A")) }
      try server.refuses(
        signedPayload: ForgedJWS.joined(short[0], short[1], short[2]), 400, [], "J18 length")
    }
    // The signature's last letter has four unused bits.
    for bits in 1..<16 {
      var letters = parts[2]
      let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
      let value = try #require(alphabet.firstIndex(of: letters[letters.count - 1]))
      #expect(value & 15 == 0)
      letters[letters.count - 1] = alphabet[value | bits]
      try server.refuses(
        signedPayload: ForgedJWS.joined(parts[0], parts[1], letters), 400, ["jws_base64url"], "J18")
    }
    try server.accepts(signedPayload: good, "the original")
  }

  @Test func `J19: a malformed or too long header is refused`() throws {
    let chain = authority.chain
    let x5c = "[" + chain.map { "\"\(ForgedJWS.base64($0))\"" }.joined(separator: ",") + "]"
    let headers = [
      #"{"alg":"none","alg":"ES256","x5c":\#(x5c)}"#,
      #"{"alg":"ES256","alg":"ES256","x5c":\#(x5c)}"#,
      #"{"alg":"ES256","x5c":\#(x5c),"x5c":[]}"#,
      #"{"alg":"ES256","x5c":[],"\u0078\u0035c":\#(x5c)}"#,
      #"["ES256"]"#, #""ES256""#, "null", "", "{", "{\"alg\":\"ES256\",\"x5c\":\(x5c)} x",
      "\u{FEFF}{}",
    ]
    for header in headers {
      let jws = try authority.fresh(header: Array(header.utf8))
      try server.refuses(signedPayload: jws, 400, ["jws_header"], "J19")
    }
    let padding = String(repeating: " ", count: 150 * 1024)
    let long = try authority.fresh(header: Array(padding.utf8) + ForgedJWS.header(chain))
    try server.refuses(signedPayload: long, 400, ["jws_header"], "J19 long")
    let longer = Array((padding + padding).utf8) + ForgedJWS.header(chain)
    try server.refuses(
      signedPayload: try authority.fresh(header: longer), 413, ["too_large"], "J19")
  }

  @Test func `J20: white space, order and escapes in a header are accepted`() throws {
    let x5c = authority.chain.map { "\"\(ForgedJWS.base64($0))\"" }.joined(separator: " ,\n ")
    for header in [
      "{ \"x5c\" : [ \(x5c) ] ,\r\n\t\"alg\" : \"ES256\" }",
      "{\"typ\":\"JWT\",\"alg\":\"ES\\u003256\",\"x5c\":[\(x5c)]}",
      "{\"alg\":\"ES256\",\"x5c\":[\(x5c)],\"x5t#S256\":\"e30\"}",
    ] {
      try server.accepts(signedPayload: try authority.fresh(header: Array(header.utf8)), "J20")
    }
  }

  @Test func `J23, J24: a signed payload that is not a notification is quarantined`() throws {
    for payload in [
      "", "x", "[]", "null", "1", "\"{}\"", "{", "{}", "{\"a\":1,\"a\":2}", "\u{FEFF}{}",
      String(repeating: "[", count: 5000),
    ] {
      let jws = try authority.simulated.sign(payload: Array(payload.utf8))
      try server.refuses(signedPayload: jws, 422, [], "J23 \(payload.prefix(9))")
    }
    let long = Sample.notification().with("x", .string(String(repeating: "x", count: 300 * 1024)))
    try server.refuses(signedPayload: try authority.signed(long), 413, ["too_large"], "J24")
  }

  // MARK: Nested

  /// A notification that carries this text as its signed transaction.
  private func outer(_ nested: [UInt8], member: String = "data.signedTransactionInfo") throws
    -> [UInt8]
  {
    let text = JSONValue.string(String(decoding: nested, as: UTF8.self))
    return try authority.signed(
      Sample.notification().with("data.transaction", nil).with("data.renewalInfo", nil)
        .with(member, text))
  }

  @Test func `J25: a nested JWS is verified like the outer one`() throws {
    let good = try authority.simulated.sign(payload: Sample.transaction().bytes)
    let parts = ForgedJWS.parts(good)
    let richer = ForgedJWS.url(Sample.transaction().with("price", .integer(1)).bytes)
    let none = ForgedJWS.header(authority.chain, alg: "\"none\"")
    let other = try Authority()
    let plain = String(decoding: parts[1], as: UTF8.self)
    let rows: [[UInt8]] = [
      ForgedJWS.joined(parts[0], richer, parts[2]),
      ForgedJWS.joined(ForgedJWS.url(none), parts[1], []),
      try other.simulated.sign(payload: Sample.transaction().bytes), Array("x".utf8), [],
      Array("..".utf8), Array(plain.utf8), good + [UInt8(ascii: "=")],
      ForgedJWS.joined(parts[0], parts[1], []), ForgedJWS.joined(parts[0], [], parts[2]),
    ]
    for row in rows {
      try server.refuses(signedPayload: try outer(row), 401, [], "J25")
      try server.refuses(
        signedPayload: try outer(row, member: "data.signedRenewalInfo"), 401, [], "J25")
    }
    let late = Sample.transaction(signed: 2_600_000_000_000)
    let dated = try authority.simulated.sign(payload: late.bytes)
    try server.refuses(signedPayload: try outer(dated), 401, ["nested_chain_dates"], "J25 date")
    let low = try authority.simulated.sign(payload: Sample.transaction(signed: .min).bytes)
    try server.refuses(signedPayload: try outer(low), 401, ["nested_chain_dates"], "J25 date")
    // Another leaf under the same root is accepted.
    let rotated = try ChainForgery(under: authority)
    let jws = try ForgedJWS.jws(
      header: ForgedJWS.header(try rotated.chain()), payload: Sample.transaction().bytes,
      key: rotated.leafKey)
    try server.accepts(signedPayload: try outer(jws), "J25 another chain")
  }

  @Test func `J26: a notification whose parts disagree is not admitted`() throws {
    let base = Sample.notification()
    let rows: [(String, JSONValue?)] = [
      ("data.transaction.originalTransactionId", .string("2000000000000002")),
      ("data.renewalInfo.originalTransactionId", .string("2000000000000002")),
      ("data.transaction.bundleId", .string("com.example.other")),
      ("data.transaction.bundleId", nil),
      ("data.transaction.environment", .string("Sandbox")),
      ("data.transaction.environment", nil),
      ("data.renewalInfo.environment", .string("Sandbox")),
      ("data.renewalInfo.environment", nil), ("data.bundleId", .string("com.example.sandbox")),
      ("data.transaction", .integer(1)), ("data.renewalInfo", .array([])),
    ]
    for (path, value) in rows {
      let changed = base.with("notificationUUID", .string(Sample.uuid())).with(path, value)
      try server.refuses(signedPayload: try authority.signed(changed), 422, [], "J26 \(path)")
    }
    for wrong in [JSONValue.integer(1), .object([]), .string("\u{1}")] {
      let changed = Sample.notification().with("data.transaction", nil)
        .with("data.signedTransactionInfo", wrong)
      try server.refuses(signedPayload: try authority.signed(changed), 422, ["nested_jws"], "J26")
    }
  }

  @Test func `a nested JWS or content object that is null is absent`() throws {
    for name in ["signedTransactionInfo", "signedRenewalInfo"] {
      let part = name == "signedRenewalInfo" ? "renewalInfo" : "transaction"
      let changed = Sample.notification().with("data.\(part)", nil).with("data.\(name)", .null)
      try server.accepts(signedPayload: try authority.signed(changed), name)
    }
    let changed = Sample.notification().with("summary", .null)
    try server.accepts(signedPayload: try authority.signed(changed), "summary")
  }

  @Test func `an app transaction of another app is not admitted in production`() throws {
    let notification = { (appAppleId: Int64) in
      Sample.notification().with("notificationType", .string("RESCIND_CONSENT")).with("data", nil)
        .with(
          "appData",
          .object([
            ("appAppleId", .integer(123_456_789)), ("bundleId", .string("com.example.app")),
            ("environment", .string("Production")),
            (
              "appTransaction",
              .object([
                ("receiptType", .string("Production")), ("bundleId", .string("com.example.app")),
                ("appAppleId", .integer(appAppleId)),
                ("receiptCreationDate", .integer(Sample.purchase)),
              ])
            ),
          ]))
    }
    try server.accepts(signedPayload: try authority.signed(notification(123_456_789)), "same")
    try server.refuses(
      signedPayload: try authority.signed(notification(987)), 422, ["nested_app_apple_id"], "other")
  }

  @Test func `a payload with many members is judged as of its own date`() throws {
    let many = { (date: Int64) in
      (0..<200).reduce(Sample.notification(signed: date)) { $0.with("k\($1)", .integer(1)) }
    }
    try server.accepts(signedPayload: try authority.signed(many(Sample.purchase)), "many")
    try server.refuses(
      signedPayload: try authority.simulated.sign(payload: many(1).bytes), 401, ["chain_dates"],
      "long ago")
    // A certificate that has expired since.
    var forgery = try ChainForgery(under: authority)
    (forgery.leaf.notBefore, forgery.leaf.notAfter) = (
      Sample.purchase - 1_000_000, Sample.purchase + 1_000_000
    )
    let payload = try CompactJWS(parsing: try authority.signed(many(Sample.purchase))[...]).payload
    let jws = try ForgedJWS.jws(
      header: ForgedJWS.header(try forgery.chain()), payload: payload, key: forgery.leafKey)
    try server.accepts(signedPayload: jws, "expired since")
  }

  @Test func `J27: other signed payloads are not admitted as notifications`() throws {
    let appTransaction = JSONValue.object([
      ("receiptType", .string("Production")), ("bundleId", .string("com.example.app")),
      ("appAppleId", .integer(123_456_789)), ("receiptCreationDate", .integer(Sample.purchase)),
    ])
    for payload in [Sample.transaction(), Sample.renewal(), appTransaction, Sample.data()] {
      let jws = try authority.simulated.sign(payload: payload.bytes)
      try server.refuses(signedPayload: jws, 422, [], "J27")
    }
    // A notification nested where a transaction should be.
    let nested = try authority.fresh()
    try server.refuses(signedPayload: try outer(nested), 422, [], "J27 nested")
  }

  @Test func `J28: a payload signed by Xcode is untrusted`() throws {
    let key = try SigningKey.generate(.p256)
    let maker = try CertificateMaker.leaf(key, issuer: try .root(key), issuerKey: key)
    var selfSigned = maker
    selfSigned.issuer = maker.subject
    let der = try selfSigned.make(for: key, signedBy: key)
    for environment in ["Xcode", "LocalTesting", "Production"] {
      let payload = Sample.notification().with("data.environment", .string(environment)).bytes
      let jws = try ForgedJWS.jws(header: ForgedJWS.header([der]), payload: payload, key: key)
      try server.refuses(signedPayload: jws, 401, ["x5c_length"], "J28")
    }
  }
}
