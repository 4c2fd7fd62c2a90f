import AppStore
import Clients
import Foundation
import Ledger
import Platform
import SignedData
import Store
import Testing

/// The key `sinks`: where changes are sent, and every mistake is named.
@Suite struct SinkReadingTests {
  private static let secret = WebhookSecret.generate()

  private func folder() throws -> ConfigurationFolder {
    let folder = try ConfigurationFolder()
    try folder.write("a.whsec", Array((Self.secret + "\n").utf8))
    try folder.write("two.whsec", Array((Self.secret + "\n" + WebhookSecret.generate()).utf8))
    try folder.write("auth", Array("Bearer canary-91\n".utf8))
    try folder.write("open", Array(Self.secret.utf8), mode: 0o644)
    try folder.write("short.whsec", Array("whsec_AAAA".utf8))
    try folder.write("v1.secret", Array("canary-92\ncanary-93".utf8))
    return folder
  }

  private func sinks(_ members: String) throws -> [Configuration.Sink] {
    try folder().load(
      """
      { "apps": [ { "bundleId": "com.a", "environments": ["Sandbox"],
                    "v1SharedSecretFile": "v1.secret" } ],
        "sinks": [ \(members) ] }
      """
    ).sinks
  }

  private static let start = #""name": "b", "kind": "webhook", "url": "https://h.example/x?k=1", "#

  @Test func `every member is read, and what is left out has its default`() throws {
    let all = try sinks(
      """
      { \(Self.start)"secretFile": "two.whsec", "types": ["app_store.*"],
        "environments": ["Production"], "bundleIds": ["com.a"], "arrivals": ["import"],
        "include": ["payload"], "from": "12-0a0b0c0d", "order": "none", "concurrency": 3,
        "timeoutSeconds": 5, "headerFiles": { "Authorization": "auth", "X_Key": "auth" } },
      { "name": "in-1", "kind": "forward", "url": "http://10.0.0.1:80/y", "privateNetwork": true,
        "v1": "withSecret", "caFile": null, "clientCertificateFile": null }
      """)
    #expect(all.map(\.name) == ["b", "in-1"] && all.map(\.kind) == [.webhook, .forward])
    let (one, two) = (all[0], all[1])
    #expect(one.secrets.count == 2 && one.types == ["app_store.*"] && one.concurrency == 3)
    #expect(one.environments == [.production] && one.bundleIds == ["com.a"])
    #expect(one.arrivals == ["import"] && one.include == [.payload] && one.order == .none)
    #expect(one.from == .after(seq: 12, hash: [10, 11, 12, 13]) && one.timeoutSeconds == 5)
    #expect(
      one.fields.map(\.name) == ["Authorization", "X_Key"]
        && one.fields[0].value.text == "Bearer canary-91" && !one.isPrivate)
    #expect(two.isPrivate && two.v1Secrets.mapValues(\.text) == ["com.a": "canary-92"])
    #expect(two.from == .now && two.order == .customer && two.concurrency == 8)
    #expect(two.arrivals == Set(EventArrival.allCases.map(\.rawValue)).subtracting(["import"]))
    let text = "\(all) \(String(reflecting: one.fields))"
    #expect(!text.contains("canary") && !text.contains(Self.secret.dropFirst(6)))
  }

  @Test(arguments: [
    (#""name": "A""#, "name cannot be used"), (#""kind": "x""#, "kind is unknown"),
    (#""url": "http://h.example""#, "url is no usable address"),
    (#""url": "https://u:p@h.example""#, "url is no usable address"),
    (#""url": "file:///etc/passwd""#, "url is no usable address"),
    (#""secretFile": "none""#, "none"), (#""secretFile": "open""#, "can be read by others"),
    (#""secretFile": "short.whsec""#, "a line that is no secret"),
    (#""secretFile": "auth""#, "a line that is no secret"),
    (#""types": []"#, "an empty list"), (#""environments": ["Mars"]"#, "environment is unknown"),
    (#""arrivals": ["mail"]"#, "arrivals has an unknown word"),
    (#""include": ["body"]"#, "include has an unknown word"),
    (#""from": "12""#, "from is no place"), (#""from": "-1-00000000""#, "from is no place"),
    (#""order": "best""#, "order is unknown"), (#""concurrency": 65"#, "from 1 to 64"),
    (#""timeoutSeconds": 0"#, "from 1 to 120"), (#""v1": "withSecret""#, "v1 is unknown"),
    (#""quarantine": true"#, "quarantine is of no use here"),
    (#""proxy": "socks://h.example""#, "proxy is no usable address"),
    (#""proxy": "http://u:p@h.example""#, "proxy is no usable address"),
    (#""privateNetwork": 1"#, "not true or false"), (#""colour": 1"#, "unknown key"),
    (#""headerFiles": { "Host": "auth" }"#, "cannot be set"),
    (#""headerFiles": { "X": "two.whsec" }"#, "more than one line"),
    (#""headerFiles": { "X Key": "auth" }"#, "cannot be set"),
    (#""headerFiles": { "X(Key)": "auth" }"#, "cannot be set"),
    (#""caFile": "none""#, "none"), (#""clientCertificateFile": "open""#, "read by others"),
  ]) func `a mistake is named`(_ member: String, _ problem: String) throws {
    let name = member.split(separator: ":")[0]
    let usual = [
      #""name": "b""#, #""kind": "webhook""#, #""url": "https://h.example""#,
      #""secretFile": "a.whsec""#,
    ].filter { !$0.hasPrefix(name) }
    let error = try #require(throws: LedgerError.self) {
      try sinks("{ \((usual + [member]).joined(separator: ", ")) }")
    }
    #expect(error.message.contains("sinks[0]") && error.message.contains(problem), "\(error)")
    #expect(!error.description.contains("canary"))
  }

  @Test func `names occur once, and there is a limit`() throws {
    let one = #"{ "name": "b", "kind": "forward", "url": "https://h.example" }"#
    let twice = try #require(throws: LedgerError.self) { try sinks("\(one), \(one)") }
    #expect(twice.message.contains("name occurs twice"))
    let many = (0..<33).map { one.replacing("\"b\"", with: "\"b\($0)\"") }
    #expect(throws: LedgerError.self) { try sinks(many.joined(separator: ",")) }
    let unsigned = #"{ "name": "b", "kind": "webhook", "url": "https://h.example" }"#
    let error = try #require(throws: LedgerError.self) { try sinks(unsigned) }
    #expect(error.message.contains("secretFile is missing"))
  }
}
