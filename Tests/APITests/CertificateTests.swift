import AppStoreSimulator
import Audit
import Foundation
import Glibc
import Ledger
import Platform
import Store
import StrictJSON
import Support
import Testing

@testable import SignedData

/// Rows X5, X11, X14, X18, X21, X22 of the hostile inputs, where they need other roots than the
/// table's, a prover's memory, or a listener.
@Suite struct CertificateTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  // MARK: Roots

  @Test func `X5: a chain is untrusted if only the hash of Apple's root is configured`() throws {
    let chain = authority.chain
    let prover = try Prover(roots: try TrustRoots())
    for third in [chain[2], chain[0], [0]] {
      let jws = try CompactJWS(
        parsing: try authority.fresh(chain: [chain[0], chain[1], third])[...])
      #expect(throws: ProofFailure.untrusted("chain_root")) {
        try prover.prove(jws, at: Sample.start)
      }
    }
  }

  @Test func `X11: a root with path length 0 has no intermediate`() throws {
    let rootKey = try SigningKey.generate(.p384)
    var root = try CertificateMaker.root(rootKey)
    root.replace("2.5.29.19", by: .basicConstraints(ca: true, pathLength: 0))
    let narrow = try root.make(for: rootKey, signedBy: rootKey)
    var below = try ChainForgery(under: authority)
    below.intermediateSigner = rootKey
    below.intermediate.replace("2.5.29.35", by: nil)
    let prover = try Prover(roots: try TrustRoots(files: [narrow]))
    let jws = try CompactJWS(
      parsing: try authority.fresh(chain: try below.chain(), key: below.leafKey)[...])
    #expect(throws: ProofFailure.untrusted("chain_path")) {
      try prover.prove(jws, at: Sample.start)
    }
  }

  // MARK: Signatures

  @Test func `X14: weak signature algorithms and keys in a chain are untrusted`() throws {
    // Chains made with the openssl tool, each with one weakness that `CertificateMaker` cannot
    // make.
    let folder = try #require(Bundle.module.resourceURL?.appendingPathComponent("Fixtures"))
    func file(_ name: String) throws -> [UInt8] {
      Array(try Data(contentsOf: folder.appendingPathComponent(name)))
    }
    let root = try #require(CertificateMaker.der(pem: try file("root.pem")))
    let key = try SigningKey.read(pem: try file("leaf.key.pem"))
    let scratch = try InProcessServer.newFolder()
    defer { try? FileManager.default.removeItem(atPath: scratch) }
    let receiver = try Receiver(try InProcessServer.configuration(in: scratch, root: root))
    let rows = [
      ("rsa2048", nil), ("rsa1024", "intermediate_key"), ("md5", "certificate_signature"),
      ("sha1", "certificate_signature"),
    ]
    for (name, code) in rows {
      let chain = try ["leaf", "intermediate"].map {
        try #require(CertificateMaker.der(pem: try file("\(name).\($0).pem")))
      }
      let header = ForgedJWS.header(chain + [root])
      // 2027-01-15, when the fixtures are valid.
      let payload = Sample.notification(1).dated(1_800_000_000_000)
        .setting("data.transaction", nil).setting("data.renewalInfo", nil).bytes
      let jws = try ForgedJWS.jws(header: header, payload: payload, key: key)
      var refusal: Refusal?
      do throws(Refusal) {
        _ = try receiver.receive(signedPayload: jws[...], at: 0)
      } catch {
        refusal = error
      }
      #expect(refusal == code.map { .untrusted($0) }, "X14 \(name)")
    }
  }

  // MARK: Dates

  private static let day: Int64 = 86_400_000

  @Test func `X18: a root must be valid at the signed date`() throws {
    let date = Sample.start
    let rootKey = authority.rootKey
    var root = try CertificateMaker.root(rootKey)
    root.notAfter = date - Self.day
    let expired = try root.make(for: rootKey, signedBy: rootKey)
    let prover = try Prover(roots: try TrustRoots(files: [expired]))
    let jws = try CompactJWS(parsing: try authority.fresh()[...])
    #expect(throws: ProofFailure.untrusted("chain_dates")) { try prover.prove(jws, at: date) }
    try prover.prove(jws, at: date - 2 * Self.day)
  }

  // MARK: Cache and network

  @Test func `X21: forged chains take bounded memory and evict no proven chain`() throws {
    let prover = try Prover(roots: try TrustRoots(files: [authority.root]))
    let good = try CompactJWS(parsing: try authority.fresh()[...])
    try prover.prove(good, at: Sample.start)
    #expect(prover.chainMisses == 1)
    var held = 0
    let before = Self.residentPages()
    let stranger = try Authority()
    for index in 0..<200 {
      // By then as many refused chains are remembered as may be.
      if index == ChainMemory.maximumRefused { held = Self.held(by: prover) }
      var forgery = try ChainForgery(under: index % 2 == 0 ? authority : stranger)
      forgery.intermediateSigner = index % 2 == 0 ? stranger.rootKey : nil
      let bad = try CompactJWS(
        parsing: try authority.fresh(chain: try forgery.chain(), key: forgery.leafKey)[...])
      #expect(throws: ProofFailure.self) { try prover.prove(bad, at: Sample.start) }
      // The valid chain in another header: proven, but its leaf did not sign that header.
      let header = ForgedJWS.header(authority.chain, extra: ",\"n\":\(index)")
      let borrowed = try CompactJWS(
        parsing: ForgedJWS.joined(
          ForgedJWS.url(header), ForgedJWS.url(good.payload), ForgedJWS.url(good.signature))[...])
      #expect(throws: ProofFailure.untrusted("signature")) {
        try prover.prove(borrowed, at: Sample.start)
      }
    }
    #expect(prover.chainMisses == 201 && prover.chainHits == 200)
    #expect(Self.held(by: prover) == held, "X21 stored")
    try prover.prove(good, at: Sample.start)
    #expect(prover.chainMisses == 201 && prover.chainHits == 201, "X21 evicted")
    let growth = Self.residentPages() - before
    // A sanitizer retains freed memory for a while, and finds leaks itself.
    let factor =
      ProcessInfo.processInfo.environment["SUBLEDGER_TIMEOUT_FACTOR"].flatMap(Int.init) ?? 1
    #expect(growth < 16_384 * factor, "X21 grew by \(growth) pages")
  }

  /// The size of everything that a prover stores, as lines of a dump.
  private static func held(by prover: Prover) -> Int {
    var text = ""
    dump(prover, to: &text)
    return text.utf8.count { $0 == 0x0A }
  }

  private static func residentPages() -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
  }

  @Test func `X22: nothing named in a certificate is fetched`() throws {
    let trap = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(trap) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(trap, $0, size) == 0 && listen(trap, 16) == 0 && getsockname(trap, $0, &size) == 0
      }
    }
    #expect(isBound)
    let port = UInt16(bigEndian: address.sin_port)
    for host in ["127.0.0.1:\(port)", "169.254.169.254", "[::1]:\(port)", ""] {
      var forgery = try ChainForgery(under: authority)
      let information = CertificateExtension.authorityInformation(
        issuer: "http://\(host)/root.der", ocsp: "http://\(host)/ocsp")
      forgery.leaf.replace("1.3.6.1.5.5.7.1.1", by: information)
      forgery.intermediate.replace("1.3.6.1.5.5.7.1.1", by: information)
      forgery.intermediate.replace("2.5.29.31", by: .revocationList("http://\(host)/crl"))
      forgery.leaf.extensions.append(.revocationList("http://\(host)/crl"))
      let chain = try forgery.chain()
      let good = try authority.fresh(chain: chain, key: forgery.leafKey)
      #expect(server.post(signedPayload: good)?.status == 200, "X22")
      // If the issuer is missing, a verifier that fetches would fetch it.
      let jws = try authority.fresh(chain: [chain[0], chain[0], chain[2]], key: forgery.leafKey)
      #expect(server.post(signedPayload: jws)?.status == 401, "X22")
    }
    var watched = pollfd(fd: trap, events: Int16(POLLIN), revents: 0)
    #expect(poll(&watched, 1, 200) == 0, "X22: a connection was made")
  }

}
