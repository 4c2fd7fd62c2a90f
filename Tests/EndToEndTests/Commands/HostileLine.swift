import AppStore
import AppStoreSimulator
import Foundation
import Platform
import SignedData
import Store
import StrictJSON
import Support

/// Lines for `ingest` that nobody should believe.
enum HostileLine {
  private static let start = Sample.start

  // MARK: What the owner says

  static func mapping(
    _ products: [String], _ leeway: Int64 = 0, name: String = "pro"
  ) -> OwnerStatement.Content {
    .catalog(ProductMapping([name: NamedEntitlement(products: products, accessLeeway: leeway)]))
  }

  static func statement(
    _ content: OwnerStatement.Content, of bundleId: String = "com.example.app",
    in environment: String = "Production", mac: [UInt8] = OwnerStatement.nobody
  ) -> OwnerStatement {
    OwnerStatement(
      content, mac: mac, environment: Environment(rawValue: environment), bundleId: bundleId,
      at: start, id: "6c1f0a52-8f4e-4b0c-9d9f-0d8d5f3c1a77", token: "configuration")
  }

  private static let every = mapping(["*"])

  /// Mappings that could not be configured.
  static let mappings: [OwnerStatement] = [
    statement(every), statement(mapping(["pro.*"], 1 << 62)), statement(mapping(["pro.*"], -1)),
    statement(mapping(["pro.*"], 7 * 86_400_000 + 1)), statement(mapping([])),
    statement(mapping(["pro*monthly"])), statement(mapping(["pro"], name: "")),
    statement(mapping(["pro"], name: String(repeating: "a", count: 10_000))),
    statement(mapping(["pro"], name: "a b")), statement(mapping(["pro"]), of: "com.example.none"),
    statement(mapping(["pro"]), in: "X"), statement(mapping(["pro"]), in: ""),
  ]

  private static let others: [OwnerStatement] = [
    statement(mapping(["other.*"])), statement(.catalog(ProductMapping())),
    statement(mapping(["other.*"]), in: "Sandbox"),
    statement(.claim(originalTransactionId: "7000"), mac: [UInt8](repeating: 7, count: 32)),
    statement(.release(originalTransactionId: "7000"), mac: [UInt8](repeating: 7, count: 32)),
    statement(.claim(originalTransactionId: "7000")),
    statement(.grant(entitlement: "pro", until: nil, reason: "x")),
    statement(
      .grant(entitlement: "pro", until: .max, reason: nil), mac: [UInt8](repeating: 9, count: 32)),
    statement(.revocation(of: "6c1f0a52-8f4e-4b0c-9d9f-0d8d5f3c1a77", reason: nil), in: "X"),
  ]

  /// A line of an export with its chain, as the first of a journal.
  static func chained(_ statement: OwnerStatement) -> [UInt8] {
    let event = NewEvent(statement, receivedAt: start)
    let hash = ChainHash.next(
      after: ChainHash.origin, seq: 1, receivedAt: start,
      notificationUUID: event.notificationUUID, source: event.source,
      bodySHA256: event.bodySHA256)
    return Array(
      "{\"seq\":1,\"received_at_ms\":\(start),\"hash\":\"\(Hexadecimal.encode(hash))\",\"body\":"
        .utf8) + statement.body + Array("}".utf8)
  }

  /// A statement of any kind, in any form of a line.
  static func owners(_ random: inout SeededGenerator) -> [UInt8] {
    let statement = (mappings + others).randomElement(using: &random) ?? mappings[0]
    var body = statement.body
    switch Int.random(in: 0..<4, using: &random) {
    // Not canonical.
    case 0: body = Array("{ \"x\" : 1,".utf8) + body.dropFirst()
    case 1: body = Array("{\"received_at_ms\":1,".utf8) + body.dropFirst()
    default: break
    }
    let times: [Int64] = [0, 1, start, start + 1, -1, .max]
    let time: Int64 = times.randomElement(using: &random) ?? 0
    let text = Array("\"body\":".utf8) + body + Array("}".utf8)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return body
    case 1: return chained(statement)
    case 2: return Array("{\"arrival\":\"history\",".utf8) + text
    case 3: return Array("{\"held\":true,\"received_at_ms\":\(time),".utf8) + text
    case 4: return Array("{".utf8) + text
    default: return Array("{\"received_at_ms\":\(time),".utf8) + text
    }
  }

  // MARK: Of every kind

  /// Genuine bodies, of which hostile ones are made.
  struct Seeds {
    /// What is signed by another authority, or not at all.
    let untrusted: [[UInt8]]
    let genuine: [[UInt8]]
    let transaction: String
    let receipt: String

    init(_ installation: Installation) throws {
      let stranger = try Installation()
      untrusted =
        try (100..<104).map { try stranger.sign(Sample.notification($0)) } + [
          Sample.notification(104).bytes,
          Array("{\"notification_type\":\"CANCEL\",\"password\":\"x\"}".utf8),
        ]
      genuine = try (110..<114).map { try installation.sign(Sample.notification($0)) }
      transaction = try stranger.signedText(Sample.transaction(120)).string ?? ""
      receipt = try stranger.receiptText()
    }
  }

  private static let environments = ["Production", "Sandbox", "X", "", "Xcode"]

  static func any(_ seeds: Seeds, _ random: inout SeededGenerator) -> [UInt8] {
    let environment = environments.randomElement(using: &random) ?? ""
    let origin = "\"bundleId\":\"com.example.app\",\"environment\":\"\(environment)\""
    let body: String
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return owners(&random)
    case 1: return altered(owners(&random), &random)
    case 2: return seeds.untrusted.randomElement(using: &random) ?? []
    // A body that was signed and is changed within the signature, or cut.
    case 3:
      let genuine = seeds.genuine.randomElement(using: &random) ?? []
      return Bool.random(using: &random)
        ? Array(genuine.prefix(.random(in: 1..<genuine.count, using: &random)))
        : Array(genuine.dropLast(9)) + Array("AAAAAAA\"}".utf8)
    case 4: body = "{\"signedTransactionInfo\":\"\(seeds.transaction)\",\(origin)}"
    case 5: body = "{\"signedRenewalInfo\":\"\(seeds.transaction)\",\(origin)}"
    case 6:
      body =
        "{\"receipt\":\"\(seeds.receipt)\",\"originalTransactionId\":\"7000\",\(origin)}"
    default:
      return (0..<Int.random(in: 1...80, using: &random)).map { _ in
        let byte = UInt8.random(in: 0...255, using: &random)
        return byte == 0x0A ? 0x7B : byte
      } + [0x7D]
    }
    let times: [Int64] = [0, start, .max]
    let time: Int64 = times.randomElement(using: &random) ?? 0
    let head =
      ["\"received_at_ms\":\(time),", "\"held\":true,", "\"arrival\":\"asked\",", ""]
      .randomElement(using: &random) ?? ""
    return Array("{\(head)\"body\":\(body)}".utf8)
  }

  /// A line with some bytes changed. None is the letters of a JWS.
  private static func altered(_ line: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
    var line = line
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let byte = UInt8.random(in: 0x21...0x7E, using: &random)
      line[Int.random(in: 0..<line.count, using: &random)] = byte
    }
    return line
  }
}

extension Installation {
  /// A receipt in base64, signed by this installation's authority.
  fileprivate func receiptText() throws -> String {
    let body = try JSONDocument(parsing: try Sample.receipt(self)).root
    return body["receipt"]?.string ?? ""
  }
}
