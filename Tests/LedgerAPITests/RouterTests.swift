import HTTPServer
import JournalStore
import StrictJSON
import Support
import Testing

/// Rows H22 to H26, H34 and A1 to A5: routes, media types, tokens, cursors.
@Suite struct RouterTests {
  private let authority: Authority
  private let door: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    door = try InProcessServer(root: authority.root)
  }

  private static let bearer = "Authorization: Bearer \(InProcessServer.token)"

  /// A problem of this status, and nothing moved.
  private func problem(
    _ reply: Reply?, _ status: Int, _ row: String, at place: SourceLocation = #_sourceLocation
  ) throws {
    #expect(reply?.status == status, "\(row): \(reply?.text ?? "none")", sourceLocation: place)
    reply?.expectProblem(row, [], place)
    let stand = try door.stand()
    #expect(stand.head.seq == 0 && stand.quarantined == 0, "\(row)", sourceLocation: place)
  }

  // MARK: Notifications

  @Test func otherMethods() throws {
    for method in ["GET", "PUT", "DELETE", "TRACE", "PATCH", "OPTIONS", "post"] {
      let reply = door.get("/v1/notifications", [Self.bearer], method: method)
      try problem(reply, 405, "H22 \(method)")
      #expect(reply?.header("Allow") == "POST", "H22 \(method)")
    }
    let head = door.get("/v1/notifications", [], method: "HEAD")
    #expect(head?.status == 405 && head?.body.isEmpty == true && head?.header("Allow") == "POST")
  }

  @Test func otherMedia() throws {
    let good = ForgedJWS.body(try authority.fresh())
    for type in [
      "text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-16",
      "application/x-www-form-urlencoded", "application/jsonp", "application/json; charset=latin1",
      "", ";", "application/json, text/plain", "application/json; boundary=x", "text/json",
      "application/problem+json", "application/json;charset=utf-8;charset=utf-16",
    ] {
      try door.refuses(good, 415, ["media_type"], "H23 \(type)", headers: ["Content-Type: \(type)"])
    }
    let twice = ["Content-Type: application/json", "Content-Type: text/plain"]
    try door.refuses(good, 415, ["media_type"], "H23 twice", headers: twice)
    for coding in ["gzip", "br", "deflate", "gzip, identity", "zstd", "identity, gzip"] {
      let headers = ["Content-Type: application/json", "Content-Encoding: \(coding)"]
      try door.refuses(good, 415, ["media_type"], "H24 \(coding)", headers: headers)
    }
    for headers in [
      [], ["Content-Type: application/json; charset=UTF-8"], ["content-type: Application/JSON"],
      ["Content-Type: application/json ; charset=\"utf-8\"", "Content-Encoding: identity"],
      ["X-Forwarded-For: 17.0.0.1", "Forwarded: for=17.0.0.1", "X-Real-IP: 17.0.0.1"],
    ] {
      let reply = door.post(ForgedJWS.body(try authority.fresh()), headers)
      #expect(reply?.status == 200, "H23, H34 \(headers)")
    }
  }

  @Test func expectations() throws {
    let good = ForgedJWS.body(try authority.fresh())
    try door.refuses(good, 417, ["expectation"], "H25", headers: ["Expect: 200-ok"])
    let head =
      "POST /v1/notifications HTTP/1.1\r\nHost: door\r\nExpect: 100-continue\r\n"
      + "Content-Length: 300000\r\n\r\n"
    let reply = Wire.ask(door.server.port, Array(head.utf8))
    try problem(reply, 413, "H26")
    #expect(reply?.head.contains(" 100 ") == false, "H26")
  }

  /// H5: letter case is that of ASCII. U+212A in lower case is a k, to those who ask Unicode.
  @Test func lettersThatLookAlike() throws {
    for coding in ["chun\u{212A}ed", "chunke\u{301}d", "\u{FF43}hunked"] {
      let head =
        "POST /v1/notifications HTTP/1.1\r\nHost: door\r\nTransfer-Encoding: \(coding)\r\n\r\n"
        + "2\r\n{}\r\n0\r\n\r\n"
      let reply = Wire.ask(door.server.port, Array(head.utf8))
      try problem(reply, 400, "H5 \(coding)")
      #expect(reply?.json?["code"]?.string == "http", "H5 is framing, not JSON")
    }
  }

  /// What a header says about addresses opens nothing that only the unix socket may have.
  @Test func headersThatClaimToBeLocal() throws {
    for path in ["/control/ingest", "/control/adopt", "/control/quarantine/1/admit"] {
      for claim in ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=localhost", "X-Real-IP: ::1"] {
        try problem(door.get(path, [Self.bearer, claim], method: "POST"), 404, "H34 \(path)")
        try problem(door.get(path, [claim]), 404, "H34 \(path)")
      }
    }
  }

  // MARK: Reading

  @Test func tokensThatAreNone() throws {
    let routes = [
      "/v1/entitlements", "/v1/entitlements/2000000000000001",
      "/v1/entitlements/2000000000000001/history", "/metrics",
      "/v1/overview", "/v1/quarantine", "/v1/rebuild",
    ]
    let wrong = [
      [], ["Authorization: Basic \(InProcessServer.token)"], ["Authorization: Bearer"],
      ["Authorization: Bearer "], ["Authorization: \(InProcessServer.token)"],
      [Self.bearer, Self.bearer],
      [Self.bearer, "Authorization: Bearer wrong"],
      ["Authorization: Bearer \(InProcessServer.token)x"],
      ["Authorization: Bearer \(InProcessServer.token.dropLast())"],
      ["Authorization: Bearer \(InProcessServer.token) x"],
      ["Authorization: Bearer \(InProcessServer.token.uppercased())"],
      ["Cookie: token=\(InProcessServer.token)"],
      ["Authorization: Bearer \(String(repeating: "x", count: 4000))"],
      ["X-Authorization: Bearer \(InProcessServer.token)"],
      ["Authorization: Bearer, Bearer \(InProcessServer.token)"],
    ]
    for route in routes {
      for headers in wrong {
        let reply = door.get(route, headers)
        try problem(reply, 401, "A1 \(route)")
        #expect(reply?.header("WWW-Authenticate") == "Bearer", "A1")
        #expect(reply?.text.contains(InProcessServer.token) == false)
      }
      for query in ["?token=\(InProcessServer.token)", "?access_token=\(InProcessServer.token)"] {
        try problem(door.get(route + query, []), 401, "A1 in the query")
      }
      let long = ["Authorization: Bearer \(String(repeating: "x", count: 10_240))"]
      let answer = door.get(route, long)
      try problem(answer, 401, "A1 10 KiB")
      #expect(answer?.header("WWW-Authenticate") == "Bearer", "A1 10 KiB")
    }
    #expect(door.get("/metrics", ["authorization: bearer \(InProcessServer.token)"])?.status == 200)
  }

  @Test func rowsOfOthers() throws {
    #expect(door.post(signedPayload: try authority.fresh())?.status == 200)
    let other = ["Authorization: Bearer \(InProcessServer.sandboxToken)"]
    for suffix in ["", "/history", "?environment=Production", "?as_of=1767225600001"] {
      let hidden = door.get("/v1/entitlements/2000000000000001" + suffix, other)
      let absent = door.get("/v1/entitlements/2999999999999999" + suffix, other)
      #expect(hidden?.status == 404 && hidden?.body == absent?.body, "A2 \(suffix)")
      #expect(door.get("/v1/entitlements/2000000000000001" + suffix)?.status == 200, "A2")
    }
    let list = door.get("/v1/entitlements", other)
    #expect(list?.status == 200 && list?.json?["items"]?.elements.isEmpty == true, "A2")
    // Another app's, another environment's question finds nothing.
    for query in ["?bundle_id=com.example.sandbox", "?environment=Sandbox"] {
      #expect(door.get("/v1/entitlements/2000000000000001" + query)?.status == 404, "A2")
    }
  }

  @Test func queriesThatCannotBe() throws {
    let queries = [
      "limit=-1", "limit=1000000000", "limit=1e9", "limit=abc", "limit=0", "limit=",
      "limit=1&limit=1",
      "limit=9223372036854775808", "limit=501", "limit=%31%00", "limit= 1", "limit", "=1", "x=1",
      "Limit=1", "status=ACTIVE", "status=%", "status=%2", "status=%zz", "environment=production",
      "product_id=%ff", "product_id=%C0%80", "product_id=%0a", "after=x", "after=00", "after=%00",
      "after=" + String(repeating: "ab", count: 900), "app_account_token=", "after=zz",
    ]
    for query in queries { try problem(door.get("/v1/entitlements?" + query), 400, "A3 \(query)") }
    for query in [
      "as_of=x", "as_of=", "as_of=9223372036854775808", "as_of=2026-13-01", "as_of=2026-02-30",
      "known_at=-", "as_of=1&as_of=1", "environment=Xcode", "limit=1", "as_of=2026-01-01T00:00:00",
      "as_of=2026-01-01T25:00:00Z", "as_of=%2B", "as_of=0x1", "known_at=1e3", "as_of=١",
    ] {
      for path in ["", "/history"] {
        let target = "/v1/entitlements/2000000000000001\(path)?\(query)"
        let reply = door.get(target)
        try problem(reply, 400, "A3 \(query)")
      }
    }
  }

  @Test func cursorsOfOthers() throws {
    for index in 0..<4 {
      let jws = try authority.signed(Sample.notification(otid: "\(5_000_000_000_000_000 + index)"))
      #expect(door.post(signedPayload: jws)?.status == 200)
    }
    let page = try #require(door.get("/v1/entitlements?limit=1"))
    let cursor = try #require(page.json?["next_page"]?.string)
    #expect(door.get("/v1/entitlements?limit=1&after=\(cursor)")?.status == 200)
    let other = ["Authorization: Bearer \(InProcessServer.sandboxToken)"]
    #expect(door.get("/v1/entitlements?limit=1&after=\(cursor)", other)?.status == 400, "A3 scope")
    var forged = [
      String(cursor.dropLast(2)), String(cursor.dropFirst(2)), cursor + "00", cursor + cursor,
    ]
    forged += (0..<cursor.count).map { place in
      var letters = Array(cursor)
      letters[place] = letters[place] == "0" ? "1" : "0"
      return String(letters)
    }
    for text in forged {
      #expect(door.get("/v1/entitlements?limit=1&after=\(text)")?.status == 400, "A3 \(text)")
    }
  }

  @Test func idsThatAreNone() throws {
    for id in [
      "%27%20OR%201=1--", "%27OR", "..", ".", "%2e%2e", "%00", "2000000000000001%00", "2'", "2;",
      "*", "2000000000000001.", "~", "2000000000000001,2", "", "+", "-1'--", "1;x",
      String(repeating: "9", count: 129), "%EF%BC%92",
    ] {
      for path in ["", "/history", "/", "/history/", "/HISTORY", "/x"] {
        try problem(door.get("/v1/entitlements/" + id + path), 404, "A4 \(id)")
      }
    }
    try problem(
      door.get("/v1/entitlements/" + String(repeating: "9", count: 10_240)), 414, "A4 10 KiB")
    for raw in ["２", "é", "2\u{0}", "2\u{202E}"] {
      let reply = door.get("/v1/entitlements/" + raw)
      try problem(reply, 400, "A4 \(raw)")
    }
    try problem(door.get("/v1/entitlements/2' OR 1=1"), 400, "A4 spaces")
  }

  @Test func nothingElseIsWritten() throws {
    for headers in [[], [Self.bearer]] {
      for method in ["POST", "PUT", "DELETE", "PATCH"] {
        for path in [
          "/v1/entitlements", "/v1/entitlements/1", "/v1/entitlements/1/history",
          "/metrics", "/healthz", "/readyz", "/version",
        ] {
          let reply = door.get(path, headers, method: method)
          try problem(reply, 405, "A5 \(method) \(path)")
          #expect(reply?.header("Allow") == "GET, HEAD", "A5")
        }
        for path in [
          "/", "/v1", "/v1/journal", "/v1/quarantine/1", "/v2/notifications", "/admin",
          "/v1/notifications/", "/V1/notifications", "//v1/notifications", "/v1/notifications/x",
        ] {
          try problem(door.get(path, headers, method: method), 404, "A5 \(method) \(path)")
        }
      }
    }
  }
}
