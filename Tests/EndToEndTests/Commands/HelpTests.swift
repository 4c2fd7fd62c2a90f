import Foundation
import Ledger
import Platform
import StrictJSON
import Support
import Testing

/// `help`, and the pages that are generated from tables.
@Suite struct HelpTests {
  private func run(_ arguments: String...) throws -> CommandResult {
    try InitTests.WorkFolder().run(arguments)
  }

  @Test func `help prints what the help flag prints`() throws {
    let help = try run("help")
    #expect(help.code == 0 && help.errors.isEmpty)
    #expect(try help.output == run("--help").output)
    for topic in ["configuration", "http", "sinks", "operating", "exit-codes"] {
      #expect(help.output.contains("\n  \(topic) "), "\(topic)")
    }
    for command in ["serve", "simulate", "man", "help"] {
      let page = try run("help", command)
      #expect(page.code == 0 && page.output.contains("subledger \(command)"), "\(page)")
      #expect(try page.output.hasPrefix(run(command, "--help").output))
    }
  }

  @Test(arguments: ["topic", "--topic", "Http"]) func `an unknown topic exits with 2`(
    name: String
  ) throws {
    let unknown = try run("help", name)
    #expect(unknown.code == 2 && unknown.output.isEmpty, "\(unknown)")
    if !name.hasPrefix("-") {
      #expect(
        unknown.errors.contains("configuration, http, sinks, operating, exit-codes"), "\(unknown)")
    }
    #expect(try run("help", "http", "configuration").code == 2)
  }

  @Test func `every topic fits a terminal`() throws {
    for topic in ["configuration", "http", "sinks", "operating", "exit-codes"] {
      let page = try run("help", topic)
      #expect(page.code == 0 && page.errors.isEmpty, "\(page)")
      for line in page.output.split(separator: "\n") { #expect(line.count <= 100, "\(line)") }
    }
  }

  @Test func `the topic of sinks has every key of a sink and every type of message`() throws {
    let text = try run("help", "sinks").output
    for key in ConfigurationKey.table where [.sink, .mirror].contains(key.parent) {
      #expect(text.contains("\n  \(key.path)  (\(key.type); "), "\(key.path)")
    }
    for type in ["app_store.did_renew.billing_recovery", "subledger.granted", "subledger.test"] {
      #expect(text.contains("\n  \(type)\n"), "\(type)")
    }
    #expect(text.contains("\"secretFile\": \"backend.whsec\""))
  }

  @Test func `the topic of exit codes has all of them`() throws {
    let text = try run("help", "exit-codes").output
    for code in [0, 1, 2, 3, 4, 130] { #expect(text.contains("\n  \(code)\n"), "\(code)") }
  }

  // MARK: Configuration

  @Test func `the configuration topic and manual page have every key`() throws {
    let text = try run("help", "configuration").output
    let page = try run("man", "subledger-config").output
    for key in ConfigurationKey.table {
      #expect(text.contains("\n  \(key.path)  (\(key.type); "), "\(key.path)")
      #expect(page.contains("\\fB\(key.path)  (\(key.type); "), "\(key.path)")
    }
    for fact in [
      "--log-level", "SUBLEDGER_LISTEN", "SUBLEDGER_DATA", "SUBLEDGER_LOG_LEVEL",
      "SUBLEDGER_CONFIG", "$CREDENTIALS_DIRECTORY", "0600", "//", "sha256sum", "4194304",
      "required for Production", "SIGHUP",
    ] {
      #expect(text.contains(fact), "\(fact)")
    }
  }

  /// The reader's refusal of an unknown key lists the known ones.
  @Test(arguments: ConfigurationKey.Parent.allCases)
  func `the table of keys and the reader agree`(parent: ConfigurationKey.Parent) throws {
    let object = "{\"no-such-key\":1}"
    let text =
      switch parent {
      case .file: object
      case .app: "{\"apps\":[\(object)]}"
      case .readToken: "{\"readTokens\":[\(object)]}"
      case .limits: "{\"limits\":\(object)}"
      case .anchors: "{\"anchors\":\(object)}"
      case .appStore: "{\"appStore\":\(object)}"
      case .verifyReceipt: "{\"verifyReceipt\":\(object)}"
      case .entitlement: "{\"entitlements\":{\"pro\":\(object)}}"
      case .duration: "{\"nonRenewingDurations\":{\"pass\":\(object)}}"
      case .sink: "{\"sinks\":[\(object)]}"
      case .mirror: "{\"sinks\":[{\"kind\":\"mirror\",\"no-such-key\":1}]}"
      case .sharedJournal: "{\"sharedJournal\":\(object)}"
      case .refunds: "{\"refunds\":\(object)}"
      case .refundPolicy: "{\"refunds\":{\"policies\":[\(object)]}}"
      }
    let work = try InitTests.WorkFolder()
    let file = work.folder.appending(path: "config.json")
    try Data(text.utf8).write(to: file)
    let refusal = try #require(throws: LedgerError.self) {
      try Configuration.load(file: file.path, variables: [:], listen: nil, data: nil)
    }
    #expect(refusal.message.contains("no-such-key"), "\(refusal)")
    let list = refusal.next?.split(separator: "keys are ").last ?? ""
    let accepted = list.matches(of: /[A-Za-z0-9_]+/).map { String($0.0) }
    let described = ConfigurationKey.table.filter { $0.parent == parent }.map(\.name)
    #expect(described.count == Set(described).count && Set(described) == Set(accepted))
  }

  @Test func `the table of keys has the defaults that hold`() throws {
    let configuration = try Configuration()
    func usual(_ path: String) -> String? {
      ConfigurationKey.table.first { $0.path == path }?.usual
    }
    #expect(usual("listen") == configuration.listen && usual("data") == configuration.data)
    #expect(usual("trustedProxies") == configuration.trustedProxies.joined(separator: ", "))
    #expect(usual("logLevel") == configuration.logLevel.rawValue)
    #expect(usual("limits.bodyBytes") == "262144" && usual("limits.diskBytes") == "67108864")
    #expect(usual("limits.connections") == "\(configuration.limits.connections)")
    #expect(usual("anchors.events") == "256" && usual("anchors.minutes") == "60")
  }

  // MARK: HTTP

  /// The topic has every route of the OpenAPI document with its parameters.
  @Test func `the HTTP topic has every route and refusal`() throws {
    let installation = try Installation()
    let daemon = try installation.startWithoutProjection()
    let document = try #require(daemon.client().get("/openapi.json", token: nil)?.json)
    try daemon.stop()
    let text = try run("help", "http").output
    let paths = try #require(document["paths"]?.members)
    #expect(paths.count == 31)
    for (path, operations) in paths {
      for operation in operations.members {
        let access = operation.value["security"] == nil ? "\n" : "  (token)\n"
        let route = "\n  \(operation.name.uppercased()) \(path)\(access)"
        let start = try #require(text.range(of: route), "\(route)").upperBound
        let entry = text[start...].components(separatedBy: "\n\n")[0]
        for parameter in operation.value["parameters"]?.elements ?? [] {
          let name = try #require(parameter["name"]?.string)
          #expect(entry.contains("\n      \(name) "), "\(route) \(name)")
        }
        for name in Self.members(operation.value, document) {
          #expect(entry.contains("\n      \(name) "), "\(route) \(name)")
        }
      }
    }
    for refusal in [
      "503 overload  (retryable)", "application/problem+json", "Retry-After", "RFC 3339",
      "A notification may not be repeated by Apple.",
    ] {
      #expect(text.contains(refusal), "\(refusal)")
    }
    let refusals = try #require(document["x-refusals"]?.elements)
    #expect(refusals.count > 80)
    for refusal in refusals {
      let status = try #require(refusal["status"]?.integer)
      let code = try #require(refusal["code"]?.string)
      #expect(text.contains("\n  \(status) \(code)"), "\(status) \(code)")
    }
  }

  /// The members of all bodies of an operation.
  private static func members(_ operation: JSONElement, _ document: JSONElement) -> [String] {
    let body = operation["requestBody"]?["content"]?["application/json"]?["schema"]
    let schemas = body?["oneOf"]?.elements ?? body.map { [$0] } ?? []
    return schemas.flatMap { schema -> [String] in
      let name = schema["$ref"]?.string?.split(separator: "/").last.map(String.init) ?? ""
      let named = document["components"]?["schemas"]?[name]
      #expect(named != nil, "\(name)")
      return named?["properties"]?.members.map(\.name) ?? []
    }
  }
}
