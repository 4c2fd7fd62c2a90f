import Foundation
import SignedData
import StrictJSON
import Support
import Testing

/// `doctor`: whether Apple accepts the keys.
@Suite struct KeyCheckTests {
  private struct Check {
    let what: String
    let next: String?
  }

  private static let sandboxApp = JSONValue.object([
    ("bundleId", .string("com.example.app")), ("environments", .array([.string("Sandbox")])),
  ])

  /// An installation whose only root is the App Store's.
  private func installed(
    apps: [JSONValue] = [Installation.app()]
  ) throws -> (Installation, RunningAppStore) {
    let installation = try Installation()
    let folder = installation.folder.appending(path: "authority")
    let store = try RunningAppStore(folder, ["--customers", "1"], in: installation)
    try installation.configure(store, apps: apps)
    return (installation, store)
  }

  /// What `doctor --json` says about the keys.
  private func examine(
    _ installation: Installation, _ arguments: String...
  ) throws -> [Check] {
    let finished = try installation.launch(
      ["doctor", "--json", "--config", installation.config.path] + arguments
    ).finish()
    #expect(!finished.output.contains("eyJ"), "\(finished)")
    return try finished.lines().filter { $0["topic"]?.string == "app store" }.map { line in
      #expect(line["finding"]?.boolean == (line["next"]?.kind == .string))
      return Check(what: line["what"]?.string ?? "", next: line["next"]?.string)
    }
  }

  @Test func `a key that Apple accepts is proven by one call in each environment`() throws {
    let (installation, store) = try installed()
    let checks = try examine(installation)
    #expect(
      checks.map(\.what) == [
        "com.example.app Production: Apple accepts the key",
        "com.example.app Sandbox: Apple accepts the key",
      ])
    #expect(checks.allSatisfy { $0.next == nil })
    for environment in ["production", "sandbox"] {
      #expect(try store.requests(environment) == ["GET /inApps/v1/transactions/0": 1])
    }
  }

  @Test func `with --offline, or without a key, Apple is not asked`() throws {
    let (installation, store) = try installed()
    let checks = try examine(installation, "--offline")
    #expect(checks.map(\.what) == ["Apple was not asked (--offline)"])
    #expect(try store.requests("production").isEmpty)
    #expect(try examine(try Installation()).isEmpty)
    #expect(try examine(try Installation(), "--offline").isEmpty)
  }

  @Test func `a refused key is a finding with its four usual causes`() throws {
    let (installation, store) = try installed()
    let other = installation.folder.appending(path: "other.p8")
    try Data(try SigningKey.generate(.p256).pem()).write(to: other)
    chmod(other.path, 0o600)
    guard case .object(let members) = store.access else { throw TestFailure("no access") }
    let changed = members.map { ($0, $0 == "keyFile" ? JSONValue.string(other.path) : $1) }
    try installation.configure(with: [("appStore", .object(changed))])
    let checks = try examine(installation)
    #expect(checks.count == 2)
    for check in checks {
      #expect(check.what.hasSuffix("Apple refuses the token (401)"), "\(check)")
      let next = try #require(check.next)
      #expect(next.contains("likeliest first: keyId, issuerId, keyFile"), "\(next)")
      for cause in ["never released", "it agrees with Apple's", "AuthKey_", "60 minutes"] {
        #expect(next.contains(cause), "\(next)")
      }
    }
    #expect(try store.requests("production").values.reduce(0, +) == 2)
  }

  @Test func `a wrong clock is measured and named first`() throws {
    let (installation, store) = try installed()
    try store.control(#"{"clockSkew":-600000}"#)
    for check in try examine(installation) {
      let next = try #require(check.next)
      let clock = /likeliest first: this clock is (599|600|601) s ahead of Apple's/
      #expect(next.contains(clock), "\(next)")
    }
  }

  @Test func `an app that was never released is told from a wrong key`() throws {
    let (installation, store) = try installed()
    try store.control(#"{"neverReleased":true}"#)
    let checks = try examine(installation)
    #expect(checks.last?.what == "com.example.app Sandbox: Apple accepts the key")
    #expect(checks.first?.what.hasSuffix("(401), and accepts it in the Sandbox") == true)
    #expect(checks.first?.next?.contains("first: the app was never released") == true)
  }

  @Test func `a network that is away, an error of Apple's and a limit are no findings`() throws {
    let (installation, store) = try installed(apps: [Self.sandboxApp])
    for fault in [
      #"{"kind":"html-503"}"#, #"{"kind":"error","code":5000001}"#, #"{"kind":"rate-limit"}"#,
      #"{"kind":"cut-body"}"#,
    ] {
      try store.control(#"{"faults":[\#(fault)]}"#)
      let checks = try examine(installation)
      #expect(checks.count == 1 && checks[0].next == nil, "\(fault): \(checks)")
      #expect(checks[0].what.contains("Apple could not be asked"), "\(fault): \(checks)")
    }
    store.command.signal(SIGTERM)
    _ = try store.command.finish()
    let away = try examine(installation)
    #expect(away.count == 1 && away[0].next == nil)
    #expect(away[0].what.contains("no connection"), "\(away)")
  }

  @Test func `what is not Apple is a finding`() throws {
    let (installation, store) = try installed(apps: [Self.sandboxApp])
    for (fault, next) in [
      (#"{"kind":"html-200"}"#, "try again"), (#"{"kind":"redirect"}"#, "addresses of appStore"),
    ] {
      try store.control(#"{"faults":[\#(fault)]}"#)
      let checks = try examine(installation)
      #expect(checks.count == 1 && checks[0].next?.contains(next) == true, "\(fault): \(checks)")
    }
    // Plain HTTP, where TLS is expected.
    guard case .object(let members) = store.access else { throw TestFailure("no access") }
    let address = try #require(store.description["sandbox"]?.string)
    let secure = JSONValue.string("https" + address.dropFirst("http".count))
    let changed = members.map { ($0, $0 == "sandbox" ? secure : $1) }
    try installation.configure(apps: [Self.sandboxApp], with: [("appStore", .object(changed))])
    let checks = try examine(installation)
    #expect(checks.first?.next?.contains("ca-certificates") == true, "\(checks)")
  }

  @Test func `a service that stalls costs ten seconds at most`() throws {
    let apps = (1...4).map { Installation.app("com.example.app\($0)", id: $0) }
    let (installation, store) = try installed(apps: apps)
    try store.control(#"{"faults":[{"kind":"stalled-head"}]}"#)
    let began = Date()
    let checks = try examine(installation)
    let seconds = Date().timeIntervalSince(began)
    #expect(checks.count == 8 && checks.allSatisfy { $0.next == nil })
    #expect(checks.first?.what.contains("timeout") == true, "\(checks)")
    #expect(checks.last?.what.contains("no time was left") == true, "\(checks)")
    // Without the limit, eight questions would take ten seconds each.
    #expect(seconds < 60 * RunningCommand.timeoutFactor, "\(seconds)")
    #expect(try store.requests("production").values.reduce(0, +) <= 4)
  }
}
