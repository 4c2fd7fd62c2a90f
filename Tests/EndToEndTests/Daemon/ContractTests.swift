import Foundation
import StrictJSON
import Support
import Testing

/// The OpenAPI document and the answers agree.
@Suite struct ContractTests {
  /// A daemon with data for every route: a timeline with a late event and a redelivery, quarantined
  /// notifications about the same customer, an app that is not configured, and a comparison.
  private struct Stage {
    let installation: Installation
    let daemon: RunningDaemon
    let client: Client
    let document: JSONElement
    let shape: Shape

    init() throws {
      installation = try Installation()
      try installation.configure(with: [
        ("entitlements", .object([("pro", .array([.string("pro.*")]))]))
      ])
      daemon = try installation.start()
      client = daemon.client()
      let offer: [(String, JSONValue)] = [
        ("offerType", .integer(1)), ("offerDiscountType", .string("FREE_TRIAL")),
        ("price", .integer(9990)), ("currency", .string("USD")),
      ]
      for number in [1, 5, 3, 1] {
        var notification = Sample.notification(number)
        for (name, value) in offer {
          notification = notification.setting("data.transaction.\(name)", value)
        }
        _ = client.post(try installation.sign(notification))
      }
      for (number, app) in [(8, "com.example.app"), (9, "com.example.foreign")] {
        let quarantined = Sample.notification(number, bundleId: app)
          .setting("data.appAppleId", .integer(4))
        _ = client.post(try installation.sign(quarantined))
      }
      _ = client.post(
        try installation.sign(
          Sample.notification(10, otid: "7010", environment: "Sandbox")))
      _ = client.post(Array("{}".utf8))
      let compared = try installation.run("rebuild", "--diff")
      guard compared.code == 0 else { throw TestFailure("rebuild --diff: \(compared)") }
      guard let document = client.get("/openapi.json", token: nil)?.json else {
        throw TestFailure("there is no document")
      }
      self.document = document
      shape = try Shape(document: document)
    }

    /// Asks, and expects an answer that matches the document.
    @discardableResult
    func ask(
      _ path: String, _ status: Int = 200, of route: String, token: String? = Installation.token
    ) throws -> JSONElement {
      let answer = try #require(client.get(path, token: token))
      #expect(answer.status == status, "\(path): \(answer.text)")
      let type = answer.field("Content-Type")?.split(separator: ";").first.map(String.init) ?? ""
      let responses = document["paths"]?[route]?["get"]?["responses"]
      let schema = responses?[String(status)]?["content"]?[type]?["schema"]
      guard let schema else { throw TestFailure("\(route) names no \(status) of \(type)") }
      let json = try #require(answer.json)
      #expect(shape.objections(json, to: schema) == [], "\(path)")
      return json
    }
  }

  @Test func `answers match the OpenAPI document`() throws {
    let stage = try Stage()
    let row = "/v1/entitlements/{otid}"
    try stage.ask("/v1/entitlements/7000", of: row)
    try stage.ask(
      "/v1/entitlements/7000?as_of=2026-01-01T00:04:00Z&known_at=9999999999999", of: row)
    try stage.ask("/v1/entitlements/7010?environment=Sandbox", of: row)
    let history = try stage.ask("/v1/entitlements/7000/history", of: "\(row)/history")
    let kinds = Set(history["items"]?.elements.compactMap { $0["object"]?.string } ?? [])
    #expect(kinds == ["event", "transition", "quarantined"])
    let raw = try stage.ask("/v1/entitlements/7000/history?raw=true", of: "\(row)/history")
    #expect(raw.events.allSatisfy { $0["payload"]?.kind == .object })
    let customer = "/v1/customers/{id}"
    let known = try stage.ask(
      "/v1/customers/7000?by=original_transaction_id&as_of=2026-01-10T00:00:00Z", of: customer)
    #expect(known["entitlements"]?["pro"]?["active"]?.boolean == true)
    try stage.ask("/v1/customers/\(Sample.uuid(1))", of: customer)
    let list = try stage.ask("/v1/entitlements?limit=1", of: "/v1/entitlements")
    #expect(list["next_page"]?.string != nil)
    try stage.ask("/v1/overview", of: "/v1/overview")
    try stage.ask("/v1/quarantine", of: "/v1/quarantine")
    try stage.ask("/v1/rebuild", of: "/v1/rebuild")
    for path in ["/healthz", "/readyz", "/version", "/openapi.json"] {
      try stage.ask(path, of: path, token: nil)
    }
    let accepted = try #require(
      stage.client.post(try stage.installation.sign(Sample.notification(1))))
    let schema = stage.document["paths"]?["/v1/notifications"]?["post"]?["responses"]?["200"]?[
      "content"]?["application/json"]?["schema"]
    #expect(try stage.shape.objections(#require(accepted.json), to: #require(schema)) == [])
  }

  /// Added members break no client, and generated clients have modules and methods with good names.
  @Test func `every operation has a name, a tag, open schemas and valid examples`() throws {
    let stage = try Stage()
    let tags = stage.document["tags"]?.elements.compactMap { $0["name"]?.string } ?? []
    #expect(stage.document["servers"]?.elements.first?["url"]?.string == "/")
    #expect(stage.document.value.text.contains("\"additionalProperties\":false") == false)
    var names: [String] = []
    for (path, operations) in try #require(stage.document["paths"]?.members) {
      for (method, operation) in operations.members {
        names.append(operation["operationId"]?.string ?? "")
        let own = operation["tags"]?.elements.compactMap(\.string) ?? []
        #expect(own.count == 1 && tags.contains(own[0]), "\(path)")
        for (status, reply) in try #require(operation["responses"]?.members) where status != "304" {
          for (type, content) in try #require(reply["content"]?.members) {
            let example = try #require(content["example"], "\(method) \(path) \(status) \(type)")
            let schema = try #require(content["schema"])
            let objections = stage.shape.objections(example, to: schema)
            #expect(objections == [], "\(method) \(path) \(status)")
            guard type == "application/problem+json", status != "default" else { continue }
            #expect(example["status"]?.integer.map(String.init) == status, "\(path)")
          }
        }
      }
    }
    #expect(Set(names).count == names.count)
    #expect(names.allSatisfy { $0.contains(/^[a-z]{3,7}[A-Z][A-Za-z]+$/) })
  }

  @Test func `the OpenAPI document names Apple's values`() throws {
    let installation = try Installation()
    let daemon = try installation.start()
    let document = daemon.client().get("/openapi.json", token: nil)?.json
    let schemas = try #require(document?["components"]?["schemas"])
    let row = try #require(schemas["Entitlement"]).value.text
    let event = try #require(schemas["HistoryEvent"]).value.text
    for value in ["ASSIGNED (", "4 (win-back)", "ONE_TIME (", "assigned seat"] {
      #expect(row.contains(value), "\(value)")
    }
    for value in ["4 (win-back)", "ONE_TIME (", "ASSIGNMENT_REVOKE (", "REFUND_PRORATED ("] {
      #expect(event.contains(value), "\(value)")
    }
  }

  @Test func `refusals match the OpenAPI document`() throws {
    let stage = try Stage()
    let routes = [
      ("/v1/entitlements", "/v1/entitlements"),
      ("/v1/entitlements/{otid}", "/v1/entitlements/7000"),
      ("/v1/entitlements/{otid}/history", "/v1/entitlements/7000/history"),
      ("/v1/customers/{id}", "/v1/customers/\(Sample.uuid(1))"),
      ("/v1/overview", "/v1/overview"), ("/v1/quarantine", "/v1/quarantine"),
      ("/v1/rebuild", "/v1/rebuild"), ("/v1/refund-requests", "/v1/refund-requests"),
    ]
    for (route, path) in routes {
      try stage.ask(path, 401, of: route, token: nil)
      try stage.ask(path, 401, of: route, token: "wrong")
      try stage.ask("\(path)?nonsense=1", 400, of: route)
      try stage.ask("\(path)?limit=0", 400, of: route)
    }
    for query in ["hours=0", "hours=169", "hours=1&hours=1", "hours=x", "environment=Xcode"] {
      try stage.ask("/v1/overview?\(query)", 400, of: "/v1/overview")
    }
    for query in ["after=0", "after=-1", "after=x", "limit=501"] {
      try stage.ask("/v1/quarantine?\(query)", 400, of: "/v1/quarantine")
    }
    try stage.ask("/v1/entitlements/1", 404, of: "/v1/entitlements/{otid}")
  }

  /// Every path of the document accepts the methods it names and no other, accepts its parameters,
  /// and refuses their impossible values.
  @Test func `every documented path, method and parameter exists`() throws {
    let stage = try Stage()
    let paths = try #require(stage.document["paths"]?.members)
    #expect(paths.count == 31)
    #expect(paths.allSatisfy { !$0.name.hasPrefix("/control") && !$0.name.hasPrefix("/console") })
    #expect(stage.document["openapi"]?.string == "3.1.0")
    for (path, operations) in paths {
      let asked = path.replacingOccurrences(of: "{otid}", with: "7000")
        .replacingOccurrences(of: "{id}", with: Sample.uuid(1))
        .replacingOccurrences(of: "{account}", with: "user-1")
        .replacingOccurrences(of: "{grant}", with: Sample.uuid(2))
        .replacingOccurrences(of: "{order}", with: "MX1")
        .replacingOccurrences(of: "{report}", with: "charges")
        .replacingOccurrences(of: "{transaction_id}", with: "70001")
      let methods = operations.members.map { $0.name.uppercased() }
      let other = try #require(stage.client.ask("PATCH", asked))
      #expect(other.status == 405, "\(path)")
      #expect(other.field("Allow")?.split(separator: ", ").first.map(String.init) == methods[0])
      for parameter in operations["get"]?["parameters"]?.elements ?? [] {
        guard parameter["in"]?.string == "query", let name = parameter["name"]?.string,
          let schema = parameter["schema"]
        else { continue }
        let good = Self.value(schema)
        // Not every report takes each.
        let asked = asked.replacing(
          "charges", with: ["day": "subscriptions", "customer": "customer"][name] ?? "charges")
        let answer = try #require(stage.client.get("\(asked)?\(name)=\(good)"))
        #expect(answer.status == 200 || answer.status == 404 || name == "after", "\(path) \(name)")
        guard schema["enum"] != nil || schema["type"]?.string != "string" else { continue }
        #expect(stage.client.get("\(asked)?\(name)=impossible")?.status == 400, "\(path) \(name)")
      }
    }
  }

  private static func value(_ schema: JSONElement) -> String {
    if let word = schema["enum"]?.elements.first?.string { return word }
    switch schema["type"]?.string {
    case "integer": return "1"
    case "boolean": return "true"
    default: return schema["examples"]?.elements.first?.string ?? "x"
    }
  }

  @Test func `the schema checker reports every mismatch`() throws {
    let text = """
      {"components":{"schemas":{"A":{"type":"object","properties":{"a":{"type":["integer","null"]},
      "b":{"type":"string","enum":["x"]}},"required":["a","b"],"additionalProperties":false}}}}
      """
    let shape = try Shape(document: try JSONDocument(parsing: Array(text.utf8)).root)
    let schema = try JSONDocument(parsing: Array(##"{"$ref":"#/components/schemas/A"}"##.utf8)).root
    func count(_ value: String) throws -> Int {
      let root = try JSONDocument(parsing: Array(value.utf8)).root
      return shape.objections(root, to: schema).count
    }
    #expect(try count(#"{"a":1,"b":"x"}"#) == 0)
    #expect(try count(#"{"a":null,"b":"x"}"#) == 0)
    #expect(try count(#"{"a":"1","b":"x"}"#) == 1)
    #expect(try count(#"{"a":1,"b":"y"}"#) == 1)
    #expect(try count(#"{"a":1}"#) == 1)
    #expect(try count(#"{"a":1,"b":"x","c":1}"#) == 1)
  }
}
