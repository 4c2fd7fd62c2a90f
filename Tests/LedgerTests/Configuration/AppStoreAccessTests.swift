import Clients
import Foundation
import Ledger
import Platform
import SignedData
import Testing

/// The key `appStore`: how Apple is asked, and what a key file must be.
@Suite struct AppStoreAccessTests {
  private let folder: ConfigurationFolder

  init() throws {
    folder = try ConfigurationFolder()
    try folder.write("key.p8", try SigningKey.generate(.p256).pem())
  }

  private static let team = #""issuerId": "issuer", "keyId": "KEY", "keyFile": "key.p8""#

  @Test func `without the key nobody is asked`() throws {
    let text = #"{"apps":[{"bundleId":"a","environments":["Sandbox"]}]}"#
    #expect(try folder.load(text).apps["a"]?.appStore == nil)
  }

  @Test func `what is left out has the documented value`() throws {
    let access = try #require(try folder.access(Self.team))
    #expect(access.issuerId == "issuer" && access.keyId == "KEY")
    #expect(access.production.text == "https://api.storekit.apple.com")
    #expect(access.sandbox.text == "https://api.storekit-sandbox.apple.com")
    #expect(access.limitShare == 0.5 && access.recover == .automatic)
    #expect(access.reconcileAfter == 86_400_000 && access.proxy == nil)
    for key in ConfigurationKey.table
    where key.parent == .appStore && !["required", "none"].contains(key.usual) {
      let written = key.usual.contains(where: \.isLetter) ? "\"\(key.usual)\"" : key.usual
      #expect(try folder.access(Self.team + ", \"\(key.name)\": \(written)") == access)
    }
  }

  @Test func `every key is read`() throws {
    let access = try #require(
      try folder.access(
        Self.team + """
          , "production": "http://127.0.0.1:8", "sandbox": "https://sandbox.example/x",
          "limitShare": 0.25, "recover": "off", "reconcileAfter": "P2D",
          "proxy": "http://proxy.example:3128"
          """))
    #expect(access.production.text == "http://127.0.0.1:8")
    #expect(access.sandbox.text == "https://sandbox.example/x")
    #expect(access.limitShare == 0.25 && access.recover == .off)
    #expect(access.reconcileAfter == 2 * 86_400_000)
    #expect(access.proxy?.text == "http://proxy.example:3128")
  }

  @Test func `a key of the app wins over the one at the top`() throws {
    try folder.write("own.p8", try SigningKey.generate(.p256).pem())
    let own = #", "appStore": { "keyId": "OWN", "keyFile": "own.p8", "limitShare": 1 }"#
    let access = try #require(try folder.access(Self.team + #", "limitShare": 0.1"#, app: own))
    let shared = try #require(try folder.access(Self.team))
    #expect(access.issuerId == "issuer" && access.keyId == "OWN" && access.limitShare == 1)
    #expect(access.key != shared.key)
    let alone = try folder.load(
      """
      { "apps": [ { "bundleId": "a", "environments": ["Sandbox"], "appStore": { \(Self.team) } },
                  { "bundleId": "b", "environments": ["Sandbox"] } ] }
      """)
    #expect(alone.apps["a"]?.appStore?.keyId == "KEY" && alone.apps["b"]?.appStore == nil)
  }

  @Test(arguments: [
    (#""issuerId": "i", "keyId": "k""#, "keyFile is missing"),
    (#""issuerId": "i", "keyFile": "key.p8""#, "keyId is missing"),
    (#""keyId": "k", "keyFile": "key.p8""#, "issuerId is missing"), (#""isuer": 1"#, "isuer"),
    (#""issuerId": 1"#, "issuerId"), (#""issuerId": """#, "issuerId"),
    (#""issuerId": "a b""#, "issuerId"), (#""keyId": "a\r\nb""#, "keyId"),
    (#""keyFile": "none.p8""#, "none.p8"), (#""production": "http://example.com""#, "production"),
    (#""sandbox": "https://user@example.com""#, "sandbox"),
    (#""production": "https://example.com?a=b""#, "production"),
    (#""limitShare": 0"#, "limitShare"), (#""limitShare": 1.01"#, "limitShare"),
    (#""limitShare": "0.5""#, "limitShare"), (#""recover": "on""#, "recover"),
    (#""recover": true"#, "recover"), (#""reconcileAfter": "24h""#, "reconcileAfter"),
    (#""reconcileAfter": "PT0H""#, "reconcileAfter"), (#""reconcileAfter": 24"#, "reconcileAfter"),
    (#""proxy": "socks://h.example""#, "proxy"), (#""proxy": "http://u:p@h.example""#, "proxy"),
  ]) func `a mistake is refused and named`(members: String, name: String) throws {
    let error = try #require(throws: LedgerError.self) { try folder.access(members) }
    #expect("\(error)".contains(name) && "\(error)".contains("appStore"), "\(error)")
  }

  @Test func `a mistake of an app names the app`() throws {
    let error = try #require(throws: LedgerError.self) {
      try folder.access(Self.team, app: #", "appStore": { "keyFile": "none.p8" }"#)
    }
    #expect("\(error)".contains("apps[0].appStore"), "\(error)")
  }

  @Test func `a key that others can read is refused`() throws {
    for mode in [0o640, 0o604, 0o660, 0o601] {
      try folder.write("key.p8", try SigningKey.generate(.p256).pem(), mode: mode)
      let error = try #require(throws: LedgerError.self) { try folder.access(Self.team) }
      #expect("\(error)".contains("chmod 600"), "\(error)")
    }
  }

  @Test func `only a P-256 key is accepted, and no error shows the file`() throws {
    let other = """
      -----BEGIN PRIVATE KEY-----
      MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQg@@
      -----END PRIVATE KEY-----

      """
    var files = [Array("canary-secret".utf8), Array(other.utf8), []]
    for kind in [SigningKey.Kind.p384, .rsa2048, .ed25519] {
      files.append(try SigningKey.generate(kind).pem())
    }
    for bytes in files {
      try folder.write("key.p8", bytes)
      let error = try #require(throws: LedgerError.self) { try folder.access(Self.team) }
      #expect("\(error)".contains("P-256"), "\(error)")
      for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
        #expect(!"\(error)".contains(line))
      }
    }
  }

  @Test func `another curve of the same size is refused`() throws {
    let path = folder.url.appending(path: "key.p8").path
    let openssl = Process()
    openssl.executableURL = URL(filePath: "/usr/bin/openssl")
    openssl.arguments = [
      "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1", "-out", path,
    ]
    openssl.standardError = FileHandle.nullDevice
    try openssl.run()
    openssl.waitUntilExit()
    #expect(openssl.terminationStatus == 0)
    #expect(throws: SigningError.unknownKey) {
      try SigningKey.read(pem: Array(try Data(contentsOf: URL(filePath: path))))
    }
    #expect(throws: LedgerError.self) { try folder.access(Self.team) }
  }

  @Test func `line ends of other systems are accepted`() throws {
    let pem = String(decoding: try SigningKey.generate(.p256).pem(), as: UTF8.self)
    try folder.write(
      "key.p8", Array(pem.dropLast().replacingOccurrences(of: "\n", with: "\r\n").utf8))
    #expect(try folder.access(Self.team) != nil)
  }

  @Test func `a bare name is looked up among the credentials first`() throws {
    let credentials = try ConfigurationFolder()
    let key = try SigningKey.generate(.p256).pem()
    try credentials.write("key.p8", key)
    let text = #"{"appStore":{\#(Self.team)},"apps":[{"bundleId":"a","environments":["Sandbox"]}]}"#
    let found = try folder.load(text, credentials: credentials.url.path).apps["a"]?.appStore
    #expect(try found?.key.signing.publicKey() == SigningKey.read(pem: key).publicKey())
    #expect(try folder.load(text).apps["a"]?.appStore?.key != found?.key)
  }

  @Test func `a new key is a change that a reload applies at once`() throws {
    let text = #"{"appStore":{\#(Self.team)},"apps":[{"bundleId":"a","environments":["Sandbox"]}]}"#
    let running = try folder.load(text)
    #expect(try Reload(from: running, to: try folder.load(text)).changes.isEmpty)
    try folder.write("key.p8", try SigningKey.generate(.p256).pem())
    let read = try folder.load(text)
    let reload = try Reload(from: running, to: read)
    #expect(reload.changes == ["app a changed"] && reload.needsRestart.isEmpty)
    #expect(reload.configuration.apps["a"]?.appStore == read.apps["a"]?.appStore)
  }

  @Test func `nothing that is printed of a configuration shows the key`() throws {
    let pem = try SigningKey.generate(.p256).pem()
    try folder.write("key.p8", pem)
    var text = ""
    dump(try folder.access(Self.team), to: &text)
    for line in String(decoding: pem, as: UTF8.self).split(separator: "\n").dropFirst() {
      #expect(!text.contains(line))
    }
  }
}

extension ConfigurationFolder {
  /// The access of the only app, with these members in `appStore` at the top.
  func access(_ members: String, app: String = "") throws -> Configuration.AppStoreAccess? {
    try load(
      """
      { "appStore": { \(members) },
        "apps": [ { "bundleId": "a", "environments": ["Sandbox"]\(app) } ] }
      """
    ).apps["a"]?.appStore
  }
}
