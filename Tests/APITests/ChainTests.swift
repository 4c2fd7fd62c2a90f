import AppStoreSimulator
import Foundation
import Ledger
import StrictJSON
import Support
import Testing

@testable import SignedData

/// Rows X1 to X11, X15 to X17, X23 of the hostile inputs: which three certificates make a chain.
@Suite struct ChainTests {
  private let authority: Authority
  private let server: InProcessServer

  init() throws {
    authority = try Authority.shared.get()
    server = try InProcessServer(root: authority.root)
  }

  /// Expects that a notification under a chain changed by `change` is refused with one of these
  /// codes.
  private func refuses(
    _ row: String, _ codes: [String], at location: SourceLocation = #_sourceLocation,
    _ change: (inout ChainForgery) throws -> Void
  ) throws {
    var forgery = try ChainForgery(under: authority)
    try change(&forgery)
    let jws = try forgery.notification(authority)
    try server.refuses(signedPayload: jws, 401, codes, row, at: location)
  }

  @Test func `the unchanged chain of all forgeries is accepted`() throws {
    let jws = try ChainForgery(under: authority).notification(authority)
    try server.accepts(signedPayload: jws, "the unchanged chain")
  }

  @Test func `X1, X2: x5c must be a list of three certificates`() throws {
    let chain = authority.chain
    let rows: [(String, Int)] = [
      ("null", 400), ("\"\(ForgedJWS.base64(chain[0]))\"", 400), ("[]", 401), ("[1,2,3]", 400),
      ("[\"\",\"\",\"\"]", 401), ("{}", 400),
      ("[\"\(ForgedJWS.base64(chain[0]))\",null,null]", 400),
      ("[[],[],[]]", 400), ("true", 400),
    ]
    for (member, status) in rows {
      let header = Array("{\"alg\":\"ES256\",\"x5c\":\(member)}".utf8)
      try server.refuses(
        signedPayload: try authority.fresh(header: header), status, [], "X1 \(member.prefix(9))")
    }
    let missing = try authority.fresh(header: Array(#"{"alg":"ES256"}"#.utf8))
    try server.refuses(signedPayload: missing, 401, ["x5c_missing"], "X1")
    let lists = [
      Array(chain.prefix(1)), Array(chain.prefix(2)), chain + [chain[2]],
      [chain[0], chain[1], chain[1], chain[2]], chain + chain.prefix(2),
      [[UInt8]](repeating: [0], count: 1000),
    ]
    for list in lists {
      try server.refuses(
        signedPayload: try authority.fresh(chain: list), 401, ["x5c_length"], "X2 \(list.count)")
    }
  }

  @Test func `X3, X4: a chain to another root is untrusted`() throws {
    let key = try SigningKey.generate(.p256)
    var own = try CertificateMaker.leaf(key, issuer: try .root(key), issuerKey: key)
    own.issuer = own.subject
    own.extensions.append(.marker(CertificateExtension.intermediateMarker))
    let leaf = try own.make(for: key, signedBy: key)
    try server.refuses(
      signedPayload: try authority.fresh(chain: [leaf, leaf, leaf], key: key), 401,
      ["intermediate_authority"], "X3 self-signed")
    // All names and key identifiers are Apple's or ours; the key is another one.
    let apple = [
      CertificateMaker.NamePart(oid: "2.5.4.3", text: "Apple Root CA - G3"),
      CertificateMaker.NamePart(oid: "2.5.4.11", text: "Apple Certification Authority"),
      CertificateMaker.NamePart(oid: "2.5.4.10", text: "Apple Inc."),
      CertificateMaker.NamePart(oid: "2.5.4.6", text: "US"),
    ]
    for name in [apple, try CertificateMaker.root(key).subject] {
      let rootKey = try SigningKey.generate(.p384)
      var root = try CertificateMaker.root(rootKey)
      (root.subject, root.issuer) = (name, name)
      root.replace("2.5.29.14", by: try .subjectKeyIdentifier(authority.rootKey))
      let der = try root.make(for: rootKey, signedBy: rootKey)
      var forgery = try ChainForgery(under: authority)
      forgery.intermediate.issuer = name
      forgery.intermediateSigner = rootKey
      let chain = Array(try forgery.chain().prefix(2))
      for third in [der, authority.root] {
        let jws = try authority.fresh(chain: chain + [third], key: forgery.leafKey)
        try server.refuses(signedPayload: jws, 401, ["chain_path"], "X3, X4")
      }
    }
    let stranger = try Authority()
    for third in [stranger.root, authority.root] {
      let chain = Array(stranger.chain.prefix(2)) + [third]
      let jws = try authority.fresh(chain: chain, key: stranger.leafKey)
      try server.refuses(signedPayload: jws, 401, ["chain_path"], "X4")
    }
  }

  @Test func `X5: the third entry is ignored if the root is configured`() throws {
    let chain = authority.chain
    let other = try Authority()
    for third in [[0x30, 0x03, 0x01], [], chain[0], chain[1], other.root, chain[2] + [0]] {
      let jws = try authority.fresh(chain: [chain[0], chain[1], third])
      try server.accepts(signedPayload: jws, "X5")
    }
    // If only the hash of Apple's root is trusted, no other chain is.
    let folder = try InProcessServer.newFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let prover = try Prover(roots: try TrustRoots())
    for third in [chain[2], chain[0], [0]] {
      let jws = try CompactJWS(
        parsing: try authority.fresh(chain: [chain[0], chain[1], third])[...])
      #expect(throws: ProofFailure.untrusted("chain_root")) {
        try prover.prove(jws, at: Sample.purchase)
      }
    }
  }

  @Test func `X6: certificates in another order are untrusted`() throws {
    let (leaf, middle, root) = (authority.chain[0], authority.chain[1], authority.chain[2])
    for chain in [
      [root, middle, leaf], [middle, leaf, root], [leaf, leaf, root], [middle, middle, root],
      [leaf, root, root], [leaf, root, middle], [root, root, root],
    ] {
      try server.refuses(signedPayload: try authority.fresh(chain: chain), 401, [], "X6")
    }
  }

  @Test func `X7: certificates in another encoding are untrusted`() throws {
    let good = authority.chain.map(ForgedJWS.base64)
    let url = good[0].replacing("+", with: "-").replacing("/", with: "_")
    var rows = [
      good[0] + "=", "=" + good[0], good[0] + "====", String(good[0].dropLast(1)), " " + good[0],
      good[0].prefix(64) + "\\n" + good[0].dropFirst(64), good[0] + "\\n",
      "%" + good[0].dropFirst(),
      "-----BEGIN CERTIFICATE-----\\n\(good[0])\\n-----END CERTIFICATE-----", "\\u0000" + good[0],
    ]
    if url != good[0] { rows.append(url) }
    for row in rows {
      for index in 0..<2 {
        var entries = good
        entries[index] = row
        let x5c = entries.map { "\"\($0)\"" }.joined(separator: ",")
        let header = Array("{\"alg\":\"ES256\",\"x5c\":[\(x5c)]}".utf8)
        try server.refuses(signedPayload: try authority.fresh(header: header), 401, [], "X7")
      }
    }
  }

  @Test func `X8: certificates that are not DER are untrusted`() throws {
    let chain = authority.chain
    let leaf = chain[0]
    // The outer length in the indefinite form, and padded to three bytes.
    let indefinite = [0x30, 0x80] + leaf.dropFirst(4) + [0, 0]
    let padded = [0x30, 0x83, 0x00] + leaf[2...]
    let rows: [[UInt8]] = [
      Array("not a certificate at all".utf8), [], [0x30], [0x30, 0x00], leaf + [0], leaf + leaf,
      [0] + leaf, Array(leaf.dropLast()), Array(leaf.prefix(100)), Array(indefinite), Array(padded),
      [UInt8](repeating: 0x30, count: 4000), [UInt8](repeating: 0x30, count: 20_000),
      CertificateMaker.pem(leaf),
    ]
    for row in rows {
      for index in 0..<2 {
        var changed = chain
        changed[index] = row
        try server.refuses(
          signedPayload: try authority.fresh(chain: changed), 401, ["certificate_der"],
          "X8 \(row.prefix(4))")
      }
    }
    for zeros in [100 * 1024, 8 * 1024] {
      let long = [leaf + [UInt8](repeating: 0, count: zeros), chain[1], chain[2]]
      try server.refuses(
        signedPayload: try authority.fresh(chain: long), 401, ["certificate_der"], "X8 100 KiB")
    }
  }

  @Test func `X9, X23: Apple's marker extensions are required as they are`() throws {
    let leafMarker = CertificateExtension.receiptSigningMarker
    let middleMarker = CertificateExtension.intermediateMarker
    try refuses("X9 leaf", ["leaf_marker"]) { $0.leaf.replace(leafMarker, by: nil) }
    try refuses("X9 middle", ["intermediate_marker"]) {
      $0.intermediate.replace(middleMarker, by: nil)
    }
    try refuses("X9 swapped", ["intermediate_marker"]) {
      $0.leaf.replace(leafMarker, by: .marker(middleMarker))
      $0.intermediate.replace(middleMarker, by: .marker(leafMarker))
    }
    try refuses("X9 in the subject", ["leaf_marker"]) {
      $0.leaf.replace(leafMarker, by: nil)
      $0.leaf.subject[0].text = leafMarker
    }
    let critical = CertificateExtension(oid: leafMarker, critical: true, der: [0x05, 0x00])
    try refuses("X9 critical", ["leaf_marker"]) { $0.leaf.replace(leafMarker, by: critical) }
    try refuses("X9 critical", ["intermediate_marker"]) {
      $0.intermediate.replace(
        middleMarker, by: CertificateExtension(oid: middleMarker, critical: true, der: [0x05, 0]))
    }
    for purpose in [
      "1.2.840.113635.100.6.1.2", "1.2.840.113635.100.6.1.4", "1.2.840.113635.100.6.11.10",
      "1.2.840.113635.100.6.11", "1.2.840.113635.100.6.11.1.1",
    ] {
      try refuses("X23 \(purpose)", ["leaf_marker"]) {
        $0.leaf.replace(leafMarker, by: .marker(purpose))
      }
    }
  }

  @Test func `X10: an intermediate that may not sign certificates is untrusted`() throws {
    let (constraints, usage) = ("2.5.29.19", "2.5.29.15")
    let rows: [(String, CertificateExtension?, String)] = [
      (constraints, .basicConstraints(ca: false), "intermediate_authority"),
      (constraints, nil, "intermediate_authority"),
      (
        constraints, .basicConstraints(ca: true, pathLength: 0, critical: false),
        "intermediate_authority"
      ),
      (usage, .keyUsage([.cRLSign]), "intermediate_key_usage"),
      (usage, .keyUsage([.digitalSignature]), "intermediate_key_usage"),
      (usage, nil, "intermediate_key_usage"),
    ]
    for (oid, replacement, code) in rows {
      try refuses("X10 \(code)", [code, "certificate_invalid"]) {
        $0.intermediate.replace(oid, by: replacement)
      }
    }
  }

  @Test func `X11: a chain of another length is untrusted`() throws {
    // The leaf as the issuer of a leaf of the attacker.
    let forgery = try ChainForgery(under: authority)
    let real = try forgery.chain()
    let key = try SigningKey.generate(.p256)
    var forged = try CertificateMaker.leaf(
      key, issuer: forgery.leaf, issuerKey: forgery.leafKey)
    forged.issuer = forgery.leaf.subject
    let der = try forged.make(for: key, signedBy: forgery.leafKey)
    for chain in [[der, real[0], real[1]], [der, real[0], real[2]], [der, real[1], real[2]]] {
      try server.refuses(signedPayload: try authority.fresh(chain: chain, key: key), 401, [], "X11")
    }
    // An authority below the intermediate, whose path length is 0.
    let subKey = try SigningKey.generate(.p384)
    var sub = try CertificateMaker.intermediate(
      subKey, issuer: forgery.intermediate, issuerKey: forgery.intermediateKey)
    sub.subject[0].text = "Another authority"
    let subDER = try sub.make(for: subKey, signedBy: forgery.intermediateKey)
    let end = try CertificateMaker.leaf(key, issuer: sub, issuerKey: subKey)
    let endDER = try end.make(for: key, signedBy: subKey)
    for third in [real[1], real[2]] {
      let jws = try authority.fresh(chain: [endDER, subDER, third], key: key)
      try server.refuses(signedPayload: jws, 401, ["chain_path"], "X11 below")
    }
    // A root with path length 0.
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
      try prover.prove(jws, at: Sample.purchase)
    }
  }

  @Test func `X15, X16: unknown critical extensions and name constraints are obeyed`() throws {
    let unknown = CertificateExtension(oid: "1.3.6.1.4.1.99999.7", critical: true, der: [0x05, 0])
    try refuses("X15 leaf", ["chain_path"]) { $0.leaf.extensions.append(unknown) }
    try refuses("X15 middle", ["chain_path"]) { $0.intermediate.extensions.append(unknown) }
    try refuses("X16", ["chain_path"]) { forgery in
      let der = try forgery.leaf.make(for: forgery.leafKey, signedBy: forgery.intermediateKey)
      let subject = DERNode(der[...]).children[0].children[5].encoded
      let subtree = DERWriter.sequence(DERWriter.element(0xA4, subject))
      forgery.intermediate.extensions.append(
        CertificateExtension(
          oid: "2.5.29.30", critical: true,
          der: DERWriter.sequence(DERWriter.element(0xA1, subtree))))
    }
    // Only names of another country are permitted.
    try refuses("X16 permitted", ["chain_path"]) { forgery in
      let country = DERWriter.set(
        DERWriter.sequence(DERWriter.oid("2.5.4.6"), DERWriter.printable("ZZ")))
      let name = DERWriter.element(0xA4, DERWriter.sequence(country))
      forgery.intermediate.extensions.append(
        CertificateExtension(
          oid: "2.5.29.30", critical: true,
          der: DERWriter.sequence(DERWriter.element(0xA0, DERWriter.sequence(name)))))
    }
  }

  @Test func `X17: names, key identifiers and signers must match`() throws {
    try refuses("X17 issuer", ["chain_path"]) { $0.leaf.issuer[0].text = "Somebody" }
    try refuses("X17 issuer", ["chain_path"]) { $0.intermediate.issuer[0].text = "Somebody" }
    let other = try SigningKey.generate(.p384)
    try refuses("X17 key id", ["chain_path"]) {
      $0.leaf.replace("2.5.29.35", by: try .authorityKeyIdentifier(other))
    }
    try refuses("X17 key id", ["chain_path"]) {
      $0.intermediate.replace("2.5.29.35", by: try .authorityKeyIdentifier(other))
    }
    try refuses("X17 signer", ["chain_path"]) { $0.leafSigner = other }
    try refuses("X17 signer", ["chain_path"]) { $0.intermediateSigner = other }
    // The algorithm outside the signed part is another than the one inside.
    let forgery = try ChainForgery(under: authority)
    for index in 0..<2 {
      var chain = try forgery.chain()
      var whole = DERNode(chain[index][...])
      whole.children[1] = DERNode(DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.3.2"))[...])
      chain[index] = whole.encoded
      let jws = try authority.fresh(chain: chain, key: forgery.leafKey)
      try server.refuses(signedPayload: jws, 401, [], "X17 inner and outer")
    }
  }
}
