import AppStoreSimulator
import Foundation
import Platform
import SignedData
import Support
import Testing

/// `openssl cms -verify` and our verdicts on generated and damaged receipts. SUBLEDGER_RECEIPTS
/// says how many are generated; four times as many are damaged.
@Suite struct ReceiptAgreementTests {
  private static let createdAt: Int64 = 1_767_225_600_000
  private static let count = TestCount.receipts.number

  private let scratch: Scratch
  private let signers: [ReceiptSigner]

  init() throws {
    scratch = try Scratch()
    signers = [
      try SimulatedAuthority.make().makeReceiptSigner(),
      try ReceiptProverTests.ReceiptChain(.sha1).signer(),
    ]
    for (index, signer) in signers.enumerated() {
      try scratch.write(CertificateMaker.pem(signer.chain[2]), to: "root-\(index).pem")
    }
  }

  private func openssl(_ arguments: [String]) throws -> CommandResult {
    try RunningCommand(
      arguments, in: URL(filePath: scratch.path), program: URL(filePath: "/usr/bin/openssl")
    ).finish()
  }

  /// The content that OpenSSL verifies; nil if it does not.
  private func verified(_ der: [UInt8], by signer: Int) throws -> [UInt8]? {
    try scratch.write(der, to: "receipt.der")
    // Purposes and the strength of digests are ours to judge: OpenSSL knows only those of S/MIME.
    let result = try openssl([
      "cms", "-verify", "-binary", "-inform", "DER", "-in", "receipt.der", "-out", "content",
      "-CAfile", "root-\(signer).pem", "-purpose", "any", "-auth_level", "0",
      "-attime", String(Self.createdAt / 1000),
    ])
    guard result.code == 0 else { return nil }
    return Array(try Data(contentsOf: URL(filePath: scratch.path + "/content")))
  }

  private func generate(_ random: inout SplitMix64) throws -> (der: [UInt8], signer: Int) {
    var content = ReceiptContent(
      receiptType: random.pick(["Production", "ProductionSandbox", "Other"]),
      creationDate: Self.createdAt)
    for number in 0..<random.below(random.once(in: 10) ? 200 : 8) {
      var record = ReceiptContent.Record(
        transactionId: "\(1000 + number)", originalTransactionId: "1000", productId: "pro.monthly",
        purchaseDate: Self.createdAt - random.below(1 << 36))
      if random.hits(70) { record.expiresDate = record.purchaseDate + 2_592_000_000 }
      if random.hits(10) { record.cancellationDate = record.purchaseDate + 1000 }
      content.records.append(record)
    }
    let signer = Int(random.below(2))
    let der = try signers[signer].sign(
      content.encoded, digest: random.pick([.sha1, .sha256]), attributed: random.hits(30))
    return (der, signer)
  }

  private func isProven(_ der: [UInt8], by signer: Int) throws -> Bool {
    try ReceiptProverTests.failure(
      der, at: Self.createdAt, trusting: signers[signer].chain[2]) == nil
  }

  @Test func `OpenSSL verifies what we prove, with the same content`() throws {
    var random = SplitMix64(seed: 22)
    for number in 0..<Self.count {
      let (der, signer) = try generate(&random)
      #expect(try isProven(der, by: signer), "receipt \(number)")
      let content = try SignedMessage(parsing: der).content
      #expect(try verified(der, by: signer) == Array(content), "receipt \(number)")
      // The dump has a line for each value; those of depth 1 are the attributes.
      let dump = try openssl(["asn1parse", "-inform", "DER", "-in", "content"])
      let attributes = dump.output.split(separator: "\n").count { $0.contains("d=1 ") }
      #expect(attributes == DERNode(content).children.count, "receipt \(number)")
    }
  }

  @Test func `we prove no damaged receipt that OpenSSL refuses`() throws {
    var random = SplitMix64(seed: 23)
    var (both, strict) = (0, 0)
    for number in 0..<Self.count * 4 {
      let (whole, signer) = try generate(&random)
      var der = whole
      for _ in 0...random.below(3) { damage(&der, &random) }
      guard der != whole else { continue }
      let theirs = try verified(der, by: signer)
      if try isProven(der, by: signer) {
        both += 1
        #expect(theirs == Array(try SignedMessage(parsing: der).content), "receipt \(number)")
      } else if theirs != nil {
        // BER, or certificates that OpenSSL does not need or reads less strictly.
        strict += 1
      }
    }
    #expect(both + strict < Self.count * 4 / 2, "damage is mostly refused by both")
  }

  private func damage(_ der: inout [UInt8], _ random: inout SplitMix64) {
    guard der.count > 8 else { return }
    let place = Int(random.below(Int64(der.count)))
    switch random.below(5) {
    case 0: der[place] ^= 1 << UInt8(random.below(8))
    case 1: der[place] = UInt8(truncatingIfNeeded: random.next())
    case 2: der.remove(at: place)
    case 3: der.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
    // The headers, where lengths and identifiers are.
    default: der[Int(random.below(64))] ^= 1 << UInt8(random.below(8))
    }
  }
}

extension ReceiptProverTests.ReceiptChain {
  func signer() throws -> ReceiptSigner { ReceiptSigner(key: keys[0], chain: try chain()) }
}
