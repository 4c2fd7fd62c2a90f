import HTTPServer
import Store
import StrictJSON
import Support
import Testing

/// Rows H22 to H26, H34 and A1 to A5 of the hostile inputs: routes, media types, tokens, cursors.
@Suite struct RouterTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  private static let bearer = "Authorization: Bearer \(InProcessServer.token)"

  /// Expects a problem of this status and nothing journaled.
  private func problem(
    _ response: Response?, _ status: Int, _ row: String,
    at location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(
      response?.status == status, "\(row): \(response?.text ?? "none")", sourceLocation: location)
    response?.expectProblem(row, [], location)
    let state = try server.state()
    #expect(state.head.seq == 0 && state.quarantined == 0, "\(row)", sourceLocation: location)
  }

  // MARK: Notifications

  @Test func `H22: other methods get 405 and Allow`() throws {
    for method in ["GET", "PUT", "DELETE", "TRACE", "PATCH", "OPTIONS", "post"] {
      let response = server.get("/v1/notifications", [Self.bearer], method: method)
      try problem(response, 405, "H22 \(method)")
      #expect(response?.header("Allow") == "POST", "H22 \(method)")
    }
    let head = server.get("/v1/notifications", [], method: "HEAD")
    #expect(head?.status == 405 && head?.body.isEmpty == true && head?.header("Allow") == "POST")
  }

  @Test func `H23, H24, H34: only JSON in UTF-8 without compression is accepted`() throws {
    let good = ForgedJWS.body(try authority.fresh())
    for type in [
      "text/plain", "multipart/form-data; boundary=x", "application/json; charset=utf-16",
      "application/x-www-form-urlencoded", "application/jsonp", "application/json; charset=latin1",
      "", ";", "application/json, text/plain", "application/json; boundary=x", "text/json",
      "application/problem+json", "application/json;charset=utf-8;charset=utf-16",
    ] {
      try server.refuses(
        good, 415, ["media_type"], "H23 \(type)", headers: ["Content-Type: \(type)"])
    }
    let twice = ["Content-Type: application/json", "Content-Type: text/plain"]
    try server.refuses(good, 415, ["media_type"], "H23 twice", headers: twice)
    for coding in ["gzip", "br", "deflate", "gzip, identity", "zstd", "identity, gzip"] {
      let headers = ["Content-Type: application/json", "Content-Encoding: \(coding)"]
      try server.refuses(good, 415, ["media_type"], "H24 \(coding)", headers: headers)
    }
    for headers in [
      [], ["Content-Type: application/json; charset=UTF-8"], ["content-type: Application/JSON"],
      ["Content-Type: application/json ; charset=\"utf-8\"", "Content-Encoding: identity"],
      ["X-Forwarded-For: 17.0.0.1", "Forwarded: for=17.0.0.1", "X-Real-IP: 17.0.0.1"],
    ] {
      let response = server.post(ForgedJWS.body(try authority.fresh()), headers)
      #expect(response?.status == 200, "H23, H34 \(headers)")
    }
  }

  @Test func `H25, H26: other expectations get 417, and a body over the limit gets no 100`() throws
  {
    let good = ForgedJWS.body(try authority.fresh())
    try server.refuses(good, 417, ["expectation"], "H25", headers: ["Expect: 200-ok"])
    let head =
      "POST /v1/notifications HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
      + "Content-Length: 300000\r\n\r\n"
    let response = SocketClient.exchange(server.port, Array(head.utf8))
    try problem(response, 413, "H26")
    #expect(response?.head.contains(" 100 ") == false, "H26")
  }

  /// By Unicode's rules U+212A in lower case is a k.
  @Test func `H5: Transfer-Encoding is compared by ASCII case alone`() throws {
    for coding in ["chun\u{212A}ed", "chunke\u{301}d", "\u{FF43}hunked"] {
      let head =
        "POST /v1/notifications HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: \(coding)\r\n\r\n"
        + "2\r\n{}\r\n0\r\n\r\n"
      let response = SocketClient.exchange(server.port, Array(head.utf8))
      try problem(response, 400, "H5 \(coding)")
      #expect(response?.json?["code"]?.string == "http", "H5 is framing, not JSON")
    }
  }

  @Test func `H34: headers that claim a local address open no control route`() throws {
    for path in [
      "/control/ingest", "/control/adopt", "/control/quarantine/admit", "/control/events",
    ] {
      for claim in ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=localhost", "X-Real-IP: ::1"] {
        try problem(server.get(path, [Self.bearer, claim], method: "POST"), 404, "H34 \(path)")
        try problem(server.get(path, [claim]), 404, "H34 \(path)")
      }
    }
  }

  // MARK: Reads

  @Test func `A1: a missing, malformed or unknown token gets 401`() throws {
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
        let response = server.get(route, headers)
        try problem(response, 401, "A1 \(route)")
        #expect(response?.header("WWW-Authenticate") == "Bearer", "A1")
        #expect(response?.text.contains(InProcessServer.token) == false)
      }
      for query in ["?token=\(InProcessServer.token)", "?access_token=\(InProcessServer.token)"] {
        try problem(server.get(route + query, []), 401, "A1 in the query")
      }
      let long = ["Authorization: Bearer \(String(repeating: "x", count: 10_240))"]
      let answer = server.get(route, long)
      try problem(answer, 401, "A1 10 KiB")
      #expect(answer?.header("WWW-Authenticate") == "Bearer", "A1 10 KiB")
    }
    #expect(
      server.get("/metrics", ["authorization: bearer \(InProcessServer.token)"])?.status == 200)
  }

  @Test func `A2: a token sees no rows outside its environments and apps`() throws {
    #expect(server.post(signedPayload: try authority.fresh())?.status == 200)
    let other = ["Authorization: Bearer \(InProcessServer.sandboxToken)"]
    for suffix in ["", "/history", "?environment=Production", "?as_of=1767225600001"] {
      let hidden = server.get("/v1/entitlements/2000000000000001" + suffix, other)
      let absent = server.get("/v1/entitlements/2999999999999999" + suffix, other)
      #expect(hidden?.status == 404 && hidden?.body == absent?.body, "A2 \(suffix)")
      #expect(server.get("/v1/entitlements/2000000000000001" + suffix)?.status == 200, "A2")
    }
    let list = server.get("/v1/entitlements", other)
    #expect(list?.status == 200 && list?.json?["items"]?.elements.isEmpty == true, "A2")
    // A query for another app or environment finds nothing.
    for query in ["?bundle_id=com.example.sandbox", "?environment=Sandbox"] {
      #expect(server.get("/v1/entitlements/2000000000000001" + query)?.status == 404, "A2")
    }
  }

  @Test func `A3: invalid queries get 400`() throws {
    let queries = [
      "limit=-1", "limit=1000000000", "limit=1e9", "limit=abc", "limit=0", "limit=",
      "limit=1&limit=1",
      "limit=9223372036854775808", "limit=501", "limit=%31%00", "limit= 1", "limit", "=1", "x=1",
      "Limit=1", "status=ACTIVE", "status=%", "status=%2", "status=%zz", "environment=production",
      "product_id=%ff", "product_id=%C0%80", "product_id=%0a", "after=x", "after=00", "after=%00",
      "after=" + String(repeating: "ab", count: 900), "app_account_token=", "after=zz",
    ]
    for query in queries {
      try problem(server.get("/v1/entitlements?" + query), 400, "A3 \(query)")
    }
    for query in [
      "as_of=x", "as_of=", "as_of=9223372036854775808", "as_of=2026-13-01", "as_of=2026-02-30",
      "known_at=-", "as_of=1&as_of=1", "environment=Xcode", "limit=0", "as_of=2026-01-01T00:00:00",
      "as_of=2026-01-01T25:00:00Z", "as_of=%2B", "as_of=0x1", "known_at=1e3", "as_of=١",
    ] {
      for path in ["", "/history"] {
        let target = "/v1/entitlements/2000000000000001\(path)?\(query)"
        let response = server.get(target)
        try problem(response, 400, "A3 \(query)")
      }
    }
  }

  @Test func `A3: every refused read is counted once`() throws {
    for target in [
      "/v1/overview?hours=x", "/v1/overview?x=1", "/v1/quarantine?limit=0",
      "/v1/quarantine?after=x", "/v1/quarantine?after=0", "/v1/rebuild?x=1",
      "/v1/entitlements?limit=0", "/v1/entitlements/2000000000000001/history?as_of=x",
    ] {
      let before = try server.count("subledger_http_refusals_total{status=\"400\"}")
      try problem(server.get(target), 400, "A3 \(target)")
      let after = try server.count("subledger_http_refusals_total{status=\"400\"}")
      #expect(after == before + 1, "A3 \(target)")
    }
  }

  @Test func `A3: a cursor is valid only unchanged and for its own token`() throws {
    for index in 0..<4 {
      let jws = try authority.signed(Sample.notification(otid: "\(5_000_000_000_000_000 + index)"))
      #expect(server.post(signedPayload: jws)?.status == 200)
    }
    let page = try #require(server.get("/v1/entitlements?limit=1"))
    let cursor = try #require(page.json?["next_page"]?.string)
    #expect(server.get("/v1/entitlements?limit=1&after=\(cursor)")?.status == 200)
    let other = ["Authorization: Bearer \(InProcessServer.sandboxToken)"]
    #expect(
      server.get("/v1/entitlements?limit=1&after=\(cursor)", other)?.status == 400, "A3 scope")
    var forged = [
      String(cursor.dropLast(2)), String(cursor.dropFirst(2)), cursor + "00", cursor + cursor,
    ]
    forged += (0..<cursor.count).map { index in
      var letters = Array(cursor)
      letters[index] = letters[index] == "0" ? "1" : "0"
      return String(letters)
    }
    for text in forged {
      #expect(server.get("/v1/entitlements?limit=1&after=\(text)")?.status == 400, "A3 \(text)")
    }
  }

  @Test func `A4: identifiers that are not Apple's get 404, 400 or 414`() throws {
    for id in [
      "%27%20OR%201=1--", "%27OR", "..", ".", "%2e%2e", "%00", "2000000000000001%00", "2'", "2;",
      "*", "2000000000000001.", "~", "2000000000000001,2", "", "+", "-1'--", "1;x",
      String(repeating: "9", count: 129), "%EF%BC%92",
    ] {
      for path in ["", "/history", "/", "/history/", "/HISTORY", "/x"] {
        try problem(server.get("/v1/entitlements/" + id + path), 404, "A4 \(id)")
      }
    }
    try problem(
      server.get("/v1/entitlements/" + String(repeating: "9", count: 10_240)), 414, "A4 10 KiB")
    for raw in ["２", "é", "2\u{0}", "2\u{202E}"] {
      let response = server.get("/v1/entitlements/" + raw)
      try problem(response, 400, "A4 \(raw)")
    }
    try problem(server.get("/v1/entitlements/2' OR 1=1"), 400, "A4 spaces")
  }

  @Test func `A5: other methods get 405 and unknown paths 404`() throws {
    for headers in [[], [Self.bearer]] {
      for method in ["POST", "PUT", "DELETE", "PATCH"] {
        for path in [
          "/v1/entitlements", "/v1/entitlements/1", "/v1/entitlements/1/history",
          "/metrics", "/healthz", "/readyz", "/version", "/",
        ] {
          let response = server.get(path, headers, method: method)
          try problem(response, 405, "A5 \(method) \(path)")
          #expect(response?.header("Allow") == "GET, HEAD", "A5")
        }
        for path in [
          "/v1", "/v1/journal", "/v1/quarantine/1", "/v2/notifications", "/admin",
          "/v1/notifications/", "/V1/notifications", "//v1/notifications", "/v1/notifications/x",
        ] {
          try problem(server.get(path, headers, method: method), 404, "A5 \(method) \(path)")
        }
      }
    }
  }
}
