import AppStoreSimulator
import Platform
import SignedData
import StrictJSON
import Testing

/// Promise 3: a JWS is proven only if a chain that was trusted at that time signed it.
@Suite struct ProverTests {
  private static let signedAt: Int64 = 1_767_225_600_000
  private static let authority = try? SimulatedAuthority.make()
  private static let payload = Array(#"{"a":1}"#.utf8)

  private func authority() throws -> SimulatedAuthority { try #require(Self.authority) }

  private func prover(_ root: [UInt8]) throws -> Prover {
    try Prover(roots: TrustRoots(files: [root]))
  }

  private func jws(_ text: [UInt8]) throws -> CompactJWS { try CompactJWS(parsing: text[...]) }

  private func failure(
    _ prover: Prover, _ text: [UInt8], at time: Int64 = signedAt
  ) -> ProofFailure? {
    do {
      try prover.prove(try CompactJWS(parsing: text[...]), at: time)
      return nil
    } catch {
      return error
    }
  }

  @Test func `proves a valid JWS and caches its chain`() throws {
    let text = try authority().sign(payload: Self.payload)
    let prover = try prover(try authority().root)
    #expect(failure(prover, text) == nil)
    #expect(failure(prover, text) == nil)
    #expect(try jws(text).payload == Self.payload)
    #expect(prover.chainHits == 1 && prover.chainMisses == 1)
  }

  @Test func `reads a root in DER or PEM`() throws {
    let text = try authority().sign(payload: Self.payload)
    #expect(failure(try prover(CertificateMaker.pem(try authority().root)), text) == nil)
    #expect(throws: ProofFailure.self) { try self.prover(Array("nonsense".utf8)) }
  }

  @Test func `refuses a chain to an unknown root`() throws {
    let other = try SimulatedAuthority.make()
    let text = try other.sign(payload: Self.payload)
    #expect(failure(try Prover(roots: TrustRoots()), text) == .untrusted("chain_root"))
    #expect(failure(try prover(try authority().root), text) != nil)
  }

  /// X5: if only the hash of a root is configured, the third entry must be that root.
  @Test func `X5: a pinned root must be the third entry`() throws {
    let (authority, other) = (try authority(), try SimulatedAuthority.make())
    func signed(_ third: [UInt8]) throws -> [UInt8] {
      let chain = Array(authority.chain.prefix(2)) + [third]
      return try JWSSigner(key: authority.leafKey, chain: chain).sign(Self.payload)
    }
    let prover = try Prover(
      roots: TrustRoots(pinned: [TrustRoots.appleRootCAG3, SHA256.hash(authority.root)]))
    #expect(failure(prover, try signed(authority.root)) == nil)
    for third in [other.root, authority.chain[0], authority.chain[1], authority.root + [0], [0]] {
      #expect(failure(prover, try signed(third)) == .untrusted("chain_root"))
    }
    let theirs = try other.sign(payload: Self.payload)
    #expect(failure(prover, theirs) == .untrusted("chain_root"))
    // The pinned root as third entry of a chain that another root has signed.
    let mixed = Array(other.chain.prefix(2)) + [authority.root]
    let forged = try JWSSigner(key: other.leafKey, chain: mixed).sign(Self.payload)
    #expect(failure(prover, forged) == .untrusted("chain_path"))
  }

  /// Every bit of the signature, and another payload.
  @Test func `refuses a signature or payload with one bit changed`() throws {
    let text = try authority().sign(payload: Self.payload)
    let prover = try prover(try authority().root)
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let signature = try #require(Base64URL.decode(parts[2]))
    for bit in 0..<512 {
      var damaged = signature
      damaged[bit / 8] ^= 1 << UInt8(bit % 8)
      let forged = text.dropLast(parts[2].count) + Base64URL.encode(damaged)
      #expect(failure(prover, Array(forged)) == .untrusted("signature"), "bit \(bit)")
    }
    let other = Base64URL.encode(Array(#"{"a":2}"#.utf8))
    let swapped = Array(parts[0]) + [0x2E] + other + [0x2E] + Array(parts[2])
    #expect(failure(prover, swapped) == .untrusted("signature"))
  }

  @Test(arguments: [0, 1, 32, 63, 65, 72, 96, 128])
  func `refuses a signature that has not 64 bytes`(_ count: Int) throws {
    let text = try authority().sign(payload: Self.payload)
    let input = try jws(text).signingInput
    let forged = Array(input) + [0x2E] + Base64URL.encode([UInt8](repeating: 1, count: count))
    #expect(failure(try prover(try authority().root), forged) == .untrusted("signature"))
  }

  /// Values that no signature can have, as in CVE-2022-21449.
  @Test func `refuses signatures of zero, one or the order`() throws {
    let zero = [UInt8](repeating: 0, count: 32)
    let one = zero.dropLast() + [1]
    let order: [UInt8] = [
      0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
      0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25,
      0x51,
    ]
    let most = [UInt8](repeating: 0xFF, count: 32)
    let input = try jws(try authority().sign(payload: Self.payload)).signingInput
    let prover = try prover(try authority().root)
    for r in [zero, Array(one), order, most] {
      for s in [zero, Array(one), order, most] {
        let forged = Array(input) + [0x2E] + Base64URL.encode(r + s)
        #expect(failure(prover, forged) == .untrusted("signature"))
      }
    }
  }

  @Test(arguments: [
    ("", "jws_segments"), ("a", "jws_segments"), ("a.b", "jws_segments"),
    ("a.b.c.d", "jws_segments"), ("..", "jws_header"), (".e30.AA", "jws_header"),
    ("e30=.e30.AA", "jws_base64url"), ("e30.e3 0.AA", "jws_base64url"),
    ("e30.e30.A", "jws_base64url"), ("W10.e30.AA", "jws_header"), ("eyJ9.e30.AA", "jws_header"),
  ])
  func `reports malformed text by code`(_ text: String, _ code: String) throws {
    #expect(failure(try Prover(roots: TrustRoots()), Array(text.utf8)) == .malformed(code))
  }

  @Test(arguments: [
    (#"{"alg":"none","x5c":X}"#, "jws_alg"), (#"{"alg":"es256","x5c":X}"#, "jws_alg"),
    (#"{"alg":"HS256","x5c":X}"#, "jws_alg"), (#"{"alg":"ES384","x5c":X}"#, "jws_alg"),
    (#"{"x5c":X}"#, "jws_alg"), (#"{"alg":null,"x5c":X}"#, "jws_alg_type"),
    (#"{"alg":["ES256"],"x5c":X}"#, "jws_alg_type"), (#"{"alg":"ES256"}"#, "x5c_missing"),
    (#"{"alg":"ES256","x5c":null}"#, "x5c_type"), (#"{"alg":"ES256","x5c":[1,2,3]}"#, "x5c_type"),
    (#"{"alg":"ES256","x5c":[]}"#, "x5c_length"), (#"{"alg":"ES256","x5c":["",""]}"#, "x5c_length"),
    (#"{"alg":"ES256","x5c":["","*",""]}"#, "x5c_base64"),
    (#"{"alg":"ES256","x5c":["","",""]}"#, "certificate_der"),
    (#"{"alg":"ES256","x5c":X,"crit":[]}"#, "jws_crit"),
    (#"{"alg":"ES256","x5c":X,"b64":false}"#, "jws_b64"),
    (#"{"alg":"ES256","x5c":X,"jwk":{}}"#, "jws_jwk"),
    (#"{"alg":"ES256","x5c":X,"jku":"http://127.0.0.1/"}"#, "jws_jku"),
    (#"{"alg":"ES256","x5c":X,"x5u":"http://127.0.0.1/"}"#, "jws_x5u"),
    (#"{"alg":"ES256","x5c":X,"zip":"DEF"}"#, "jws_zip"),
    (#"{"alg":"ES256","x5c":X,"enc":"A256GCM"}"#, "jws_enc"),
    (#"{"alg":"ES256","x5c":X,"epk":{}}"#, "jws_epk"),
    (#"{"alg":"ES256","alg":"ES256","x5c":X}"#, "jws_header"),
  ])
  func `refuses an unacceptable header by code`(_ header: String, _ code: String) throws {
    let chain = try authority().chain.map { "\"\(Self.base64($0))\"" }.joined(separator: ",")
    let text = header.replacing("X", with: "[\(chain)]")
    let signer = JWSSigner(key: try authority().leafKey, header: Array(text.utf8))
    let jws = try signer.sign(Self.payload)
    #expect(failure(try prover(try authority().root), jws)?.code == code)
  }

  @Test func `member order and white space in a header are free`() throws {
    let chain = try authority().chain.map { "\"\(Self.base64($0))\"" }.joined(separator: " , ")
    let header = "{ \"x5c\" : [ \(chain) ],\n \"typ\":\"JWT\", \"alg\" : \"ES256\" }"
    let signer = JWSSigner(key: try authority().leafKey, header: Array(header.utf8))
    #expect(failure(try prover(try authority().root), try signer.sign(Self.payload)) == nil)
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    String(decoding: Base64.encode(bytes), as: UTF8.self)
  }
}
