import AppStore
import AppStoreSimulator
import Foundation
import Ledger
import Platform
import SignedData
import Support
import Testing

/// The configuration file: every key has its effect, and every mistake is named.
@Suite struct ConfigurationTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "subledger-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func load(
    _ text: String, variables: [String: String] = [:], listen: String? = nil, data: String? = nil
  ) throws -> Configuration {
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "config.json")
    try Data(text.utf8).write(to: file)
    return try Configuration.load(
      file: file.path, variables: variables, listen: listen, data: data)
  }

  private func refusal(_ text: String) -> String? {
    do {
      _ = try load(text)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func `an empty file and no file give the defaults`() throws {
    for configuration in [
      try load("{}"),
      try Configuration.load(file: nil, variables: [:], listen: nil, data: nil),
    ] {
      #expect(configuration.listen == "127.0.0.1:8080")
      #expect(configuration.data == "/var/lib/subledger")
      #expect(configuration.apps.isEmpty && configuration.readTokens.isEmpty)
      #expect(configuration.trustedProxies == ["127.0.0.1", "::1"])
      #expect(configuration.extraRoots == 0)
      let limits = configuration.limits
      #expect(limits.bodyBytes == 262_144 && limits.connections == 4096)
      #expect(limits.connectionsPerAddress == 256 && limits.headerSeconds == 5)
      #expect(limits.bodySeconds == 15 && limits.idleSeconds == 60)
    }
  }

  @Test func `a digest of a token that stands twice, or of the empty text, is refused`() throws {
    let digest = ReadAccess.digest(of: "a")
    let folder = try ConfigurationFolder()
    func refusal(_ text: String) -> String? {
      do {
        _ = try folder.load(text)
        return nil
      } catch {
        return "\(error)"
      }
    }
    func tokens(_ digests: String...) -> String {
      let list = digests.enumerated().map { "{\"name\":\"t\($0)\",\"sha256\":\"\($1)\"}" }
      return "{\"readTokens\":[\(list.joined(separator: ","))]}"
    }
    #expect(refusal(tokens(digest, digest.uppercased()))?.contains("\"t0\" too") == true)
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(refusal(tokens(digest, empty))?.contains("empty text") == true)
    #expect(refusal(tokens(digest, ReadAccess.digest(of: "b"))) == nil)
  }

  @Test func `every key is read`() throws {
    let key = try SigningKey.generate(.p256)
    let root = try CertificateMaker.root(key).make(for: key, signedBy: key)
    try Data(root).write(to: folder.appending(path: "root.der"))
    try Data(CertificateMaker.pem(root)).write(to: folder.appending(path: "root.pem"))
    let digest = String(repeating: "ab", count: 32)
    let configuration = try load(
      """
      { "listen": "[::1]:9", "data": "/data",
        "apps": [
          { "bundleId": "com.one", "appAppleId": 7, "environments": ["Production"] },
          { "bundleId": "com.two", "environments": ["Sandbox"] }, { "bundleId": "com.three",
            "appAppleId": 9007199254740993 } ],
        "trustRoots": ["root.der", "\(folder.path)/root.pem"], "trustedProxies": ["10.0.0.1"],
        "readTokens": [ { "name": "all", "sha256": "\(digest)" },
          { "name": "some", "sha256": "\(String(repeating: "cd", count: 32))", "bundleIds": ["com.one"],
            "environments": ["Sandbox"] } ],
        "limits": { "bodyBytes": 1, "connections": 2, "connectionsPerAddress": 3,
          "headerSeconds": 4, "bodySeconds": 5, "idleSeconds": 6 },
        "nonRenewingDurations": { "season": "P90D", "week": "P2W" } }
      """)
    #expect(configuration.listen == "[::1]:9" && configuration.data == "/data")
    #expect(configuration.apps["com.one"]?.environments == ["Production"])
    #expect(configuration.apps["com.one"]?.appAppleId == 7)
    #expect(configuration.apps["com.two"]?.environments == ["Sandbox"])
    #expect(configuration.apps["com.three"]?.environments == ["Production", "Sandbox"])
    #expect(configuration.apps["com.three"]?.appAppleId == 9_007_199_254_740_993)
    #expect(configuration.extraRoots == 2 && configuration.trustRoots.certificates == [root, root])
    #expect(configuration.trustedProxies == ["10.0.0.1"])
    #expect(configuration.readTokens.map(\.name) == ["all", "some"])
    #expect(configuration.readTokens[0].sha256 == [UInt8](repeating: 0xAB, count: 32))
    let limits = configuration.limits
    let read: [Int] = [
      limits.bodyBytes, limits.connections, limits.connectionsPerAddress, limits.headerSeconds,
      limits.bodySeconds, limits.idleSeconds,
    ]
    #expect(read == [1, 2, 3, 4, 5, 6])
    let day: Int64 = 86_400_000
    #expect(
      configuration.nonRenewingDurations.mapValues(\.milliseconds)
        == ["season": 90 * day, "week": 14 * day])
  }

  @Test func `flags win over variables and variables win over the file`() throws {
    let text = #"{"listen":"file:1","data":"/file"}"#
    let loaded = try load(
      text, variables: ["SUBLEDGER_LISTEN": "variable:2", "SUBLEDGER_DATA": "/variable"],
      data: "/flag")
    #expect(loaded.listen == "variable:2" && loaded.data == "/flag")
  }

  @Test(arguments: [
    (#"{"lisen":"x"}"#, "lisen"), (#"{"apps":[{"bundleId":"a","appId":1}]}"#, "appId"),
    (#"{"readTokens":[{"nom":1}]}"#, "nom"), (#"{"limits":{"bodybytes":1}}"#, "bodybytes"),
    (#"{"listen":1}"#, "listen"), (#"{"listen":""}"#, "listen"), (#"{"data":null}"#, "data"),
    (#"{"data":"a\u0000b"}"#, "data"), (#"{"apps":{}}"#, "apps"), (#"{"apps":[1]}"#, "apps[0]"),
    (#"{"apps":[{}]}"#, "bundleId"), (#"{"apps":[{"bundleId":7}]}"#, "bundleId"),
    (#"{"apps":[{"bundleId":"a"}]}"#, "appAppleId"),
    (#"{"apps":[{"bundleId":"a","appAppleId":"7"}]}"#, "appAppleId"),
    (#"{"apps":[{"bundleId":"a","environments":["Sandbox"],"appAppleId":"7"}]}"#, "appAppleId"),
    (#"{"apps":[{"bundleId":"a","environments":[]}]}"#, "environments"),
    (#"{"apps":[{"bundleId":"a","environments":["production"]}]}"#, "environment"),
    (
      #"{"apps":[{"bundleId":"a","environments":["Sandbox"]},"#
        + #"{"bundleId":"a","environments":["Sandbox"]}]}"#, "apps[1]"
    ),
    (#"{"trustRoots":[]}"#, "trustRoots"), (#"{"trustRoots":"x"}"#, "trustRoots"),
    (#"{"trustRoots":[1]}"#, "trustRoots"), (#"{"trustRoots":["missing.der"]}"#, "missing.der"),
    (#"{"trustRoots":["config.json"]}"#, "trustRoots"),
    (#"{"trustedProxies":"x"}"#, "trustedProxies"), (#"{"trustedProxies":[""]}"#, "trustedProxies"),
    (#"{"trustedProxies":["10.0.0.0/8"]}"#, "no IP address"),
    (#"{"entitlements":{"pro":"pro.monthly"}}"#, "entitlements.pro"),
    (#"{"readTokens":[{"name":"a"}]}"#, "sha256"),
    (#"{"readTokens":[{"name":"a","sha256":"abcd"}]}"#, "sha256"),
    (#"{"limits":[]}"#, "limits"), (#"{"limits":{"bodyBytes":0}}"#, "bodyBytes"),
    (#"{"limits":{"connections":-1}}"#, "connections"),
    (#"{"limits":{"idleSeconds":1.5}}"#, "idleSeconds"),
    (#"{"limits":{"idleSeconds":"1"}}"#, "idleSeconds"),
    (#"{"nonRenewingDurations":[]}"#, "nonRenewingDurations"),
    (#"{"nonRenewingDurations":{"a":"P1M"}}"#, "nonRenewingDurations.a"),
    (#"{"nonRenewingDurations":{"a":"P0D"}}"#, "nonRenewingDurations.a"),
    (#"{"nonRenewingDurations":{"a":"P-1D"}}"#, "nonRenewingDurations.a"),
    (#"{"nonRenewingDurations":{"a":90}}"#, "nonRenewingDurations.a"),
    ("", "config.json"), ("[]", "config.json"), ("{", "config.json"),
    (#"{"data":"a","data":"b"}"#, "occurs twice"),
  ])
  func `a mistake is refused and named`(_ text: String, _ name: String) {
    let problem = refusal(text)
    #expect(problem?.contains(name) == true, "\(problem ?? "was accepted")")
  }

  @Test(arguments: [
    ("", "not JSON at line 1, byte 1"), ("{\"data\": }", "not JSON at line 1, byte 10"),
    ("{\n  \"data\": \"/d\"\n  \"listen\": \"a\"\n}", "not JSON at line 3, byte 3"),
    ("{}\n\n{}", "text after the value at line 3, byte 1"),
  ])
  func `what is no JSON is named by its line`(_ text: String, _ what: String) {
    #expect(refusal(text)?.contains(": \(what)") == true)
  }

  @Test func `a token needs a name`() {
    let digest = String(repeating: "0", count: 64)
    #expect(refusal(#"{"readTokens":[{"sha256":"\#(digest)"}]}"#)?.contains("name") == true)
  }

  @Test func `a missing file is refused`() {
    #expect(throws: LedgerError.self) {
      try Configuration.load(
        file: folder.path + "/none.json", variables: [:], listen: nil, data: nil)
    }
  }

  @Test func `a token without lists reads everything`() {
    var token = Configuration.ReadToken(name: "n", sha256: [], bundleIds: nil, environments: nil)
    #expect(token.covers(environment: "Sandbox", bundleId: "a"))
    token.bundleIds = ["a"]
    #expect(token.covers(environment: "Sandbox", bundleId: "a"))
    #expect(!token.covers(environment: "Sandbox", bundleId: "b"))
    token.environments = ["Production"]
    #expect(!token.covers(environment: "Sandbox", bundleId: "a"))
    token.bundleIds = []
    #expect(!token.covers(environment: "Production", bundleId: "a"))
  }
}
