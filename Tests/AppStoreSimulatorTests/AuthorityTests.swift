import Foundation
import Platform
import SignedData
import StrictJSON
import Testing

@testable import AppStoreSimulator

/// The signing authority, judged by the openssl tool.
@Suite struct AuthorityTests {
  @Test func `OpenSSL verifies the chain, and keys are private files`() throws {
    let folder = try Scratch()
    let made = try SimulatedAuthority.create(at: folder.file("ca"))
    let output = try openssl(
      "verify", "-x509_strict", "-auth_level", "2", "-CAfile", folder.file("ca/root.pem"),
      "-untrusted", folder.file("ca/intermediate.pem"), folder.file("ca/leaf.pem"))
    #expect(output.hasSuffix("OK\n"))
    let files = FileManager.default
    let root = try #require(files.contents(atPath: folder.file("ca/root.der")))
    #expect(Array(root) == made.root)
    for name in ["root", "intermediate", "leaf"] {
      let mode = try files.attributesOfItem(atPath: folder.file("ca/\(name).key.pem"))
      #expect(mode[.posixPermissions] as? Int == 0o600)
    }
    let mode = try files.attributesOfItem(atPath: folder.file("ca"))
    #expect(mode[.posixPermissions] as? Int == 0o700)
  }

  @Test func `certificates have the markers and keys of Apple's`() throws {
    let folder = try Scratch()
    _ = try SimulatedAuthority.create(at: folder.file("ca"))
    for (name, wanted) in [
      ("leaf", ["1.2.840.113635.100.6.11.1: \n", "CA:FALSE", "Digital Signature", "P-256"]),
      (
        "intermediate",
        ["1.2.840.113635.100.6.2.1: \n", "CA:TRUE, pathlen:0", "Certificate Sign", "P-384"]
      ),
      ("root", ["CA:TRUE", "Certificate Sign", "P-384", "ecdsa-with-SHA384"]),
    ] {
      let text = try openssl("x509", "-in", folder.file("ca/\(name).pem"), "-noout", "-text")
      for part in wanted { #expect(text.contains(part), "\(name) lacks \(part)") }
    }
  }

  @Test func `an existing authority is not replaced, and can be loaded`() throws {
    let folder = try Scratch()
    let made = try SimulatedAuthority.create(at: folder.file("ca"))
    #expect(throws: SimulatorError.self) { try SimulatedAuthority.create(at: folder.file("ca")) }
    let loaded = try SimulatedAuthority.load(from: folder.file("ca"))
    #expect(loaded.chain == made.chain)
    #expect(try loaded.leafKey.publicKey() == made.leafKey.publicKey())
  }

  @Test func `OpenSSL verifies the signatures of a notification and of its parts`() throws {
    let folder = try Scratch()
    let authority = try SimulatedAuthority.create(at: folder.file("ca"))
    let key = try openssl("x509", "-in", folder.file("ca/leaf.pem"), "-noout", "-pubkey")
    try folder.write("leaf.pub", Array(key.utf8))
    let notification = try #require(
      Lifecycle.named("cancel")?.notifications(
        app: SimulatedApp(), seed: 1, endingAt: LifecycleTests.end
      ).last)
    let body = try authority.sign(notification: notification.payload)
    let outer = try #require(JSONDocument(parsing: body).root["signedPayload"]?.string)
    let data = try #require(decoded(outer).root["data"])
    let inner = ["signedTransactionInfo", "signedRenewalInfo"].compactMap { data[$0]?.string }
    #expect(inner.count == 2)
    for (index, text) in ([outer] + inner).enumerated() {
      let parts = text.split(separator: ".")
      try #require(parts.count == 3)
      let raw = try #require(Base64URL.decode(Array(parts[2].utf8)))
      #expect(raw.count == 64)
      try folder.write("\(index).der", ecdsaDER(raw))
      try folder.write("\(index).txt", Array((parts[0] + "." + parts[1]).utf8))
      let verdict = try openssl(
        "dgst", "-sha256", "-verify", folder.file("leaf.pub"), "-signature",
        folder.file("\(index).der"), folder.file("\(index).txt"))
      #expect(verdict == "Verified OK\n")
    }
  }

  @Test(arguments: SigningKey.Kind.allCases)
  func `a key read from PEM equals the written one`(_ kind: SigningKey.Kind) throws {
    let key = try SigningKey.generate(kind)
    let read = try SigningKey.read(pem: key.pem())
    #expect(read.kind == kind)
    #expect(try read.publicKey() == key.publicKey())
    let count = try read.sign([1, 2, 3]).count
    #expect(count == [.p256: 64, .p384: 96, .rsa2048: 256, .ed25519: 64][kind])
  }

  @Test func `a text that is not PEM is refused as a key`() {
    #expect(throws: SigningError.unknownKey) { try SigningKey.read(pem: Array("no key".utf8)) }
  }

  @Test func `every property of a certificate can be made wrong`() throws {
    let folder = try Scratch()
    let above = try SigningKey.generate(.p384)
    let root = try CertificateMaker.root(above)
    for kind in SigningKey.Kind.allCases {
      let key = try SigningKey.generate(kind)
      var maker = try CertificateMaker.leaf(key, issuer: root, issuerKey: above)
      maker.extensions.removeAll { $0.oid == CertificateExtension.receiptSigningMarker }
      maker.extensions.append(CertificateExtension(oid: "1.2.3.4", critical: true, der: [5, 0]))
      maker.digest = .sha1
      maker.notAfter = 4_102_444_800_000
      try folder.write("leaf.pem", CertificateMaker.pem(maker.make(for: key, signedBy: above)))
      let text = try openssl("x509", "-in", folder.file("leaf.pem"), "-noout", "-text")
      #expect(text.contains("1.2.3.4: critical"))
      #expect(!text.contains("1.2.840.113635"))
      #expect(text.contains("ecdsa-with-SHA1"))
      #expect(text.contains("Jan  1 00:00:00 2100 GMT"))
    }
    var old = root
    old.version = 1
    old.extensions = []
    try folder.write("v1.pem", CertificateMaker.pem(old.make(for: above, signedBy: above)))
    let text = try openssl("x509", "-in", folder.file("v1.pem"), "-noout", "-text")
    #expect(text.contains("Version: 1 (0x0)"))
  }

  @Test func `certificates and notifications are as large as Apple's`() throws {
    let authority = try SimulatedAuthority.make()
    for (der, size) in zip(authority.chain, [1076, 794, 583]) {
      #expect(abs(der.count - size) <= 12, "\(der.count) instead of \(size)")
    }
    let renewal = try #require(
      Lifecycle.named("buy-and-renew")?.notifications(
        app: SimulatedApp(), seed: 1, endingAt: LifecycleTests.end
      ).last)
    let size = try authority.sign(notification: renewal.payload).count
    #expect((13_000...20_000).contains(size))
  }
}
