import AppStoreSimulator
import Foundation
import Platform
import SignedData
import StrictJSON
import Support
import Testing

/// X: certificates. Each chain leads to the trusted root and is wrong in exactly one respect.
extension HostileTable {
  private typealias Change = (inout ChainForgery) throws -> Void
  private static let (constraints, usage) = ("2.5.29.19", "2.5.29.15")
  private static let leafMarker = CertificateExtension.receiptSigningMarker
  private static let middleMarker = CertificateExtension.intermediateMarker

  private static func forged(_ hostile: HostileClient, _ changes: [Change]) throws -> [HostileRow
    .Variant]
  {
    try changes.enumerated().map { .jws("\($0.offset)", try hostile.forged($0.element)) }
  }

  /// Signed by the authority's own leaf, with these certificates in the header.
  private static func lists(_ hostile: HostileClient, _ lists: [[[UInt8]]]) throws -> [HostileRow
    .Variant]
  {
    try lists.enumerated().map { .jws("\($0.offset)", try hostile.fresh(chain: $0.element)) }
  }

  private static func x5c(_ hostile: HostileClient, _ members: [String]) throws -> [HostileRow
    .Variant]
  {
    try members.map { member in
      let header = Array("{\"alg\":\"ES256\",\"x5c\":\(member)}".utf8)
      return .jws(String(member.prefix(40)), try hostile.fresh(header: header))
    }
  }

  /// Each of these in place of the leaf, and in place of the intermediate.
  private static func replaced(
    _ hostile: HostileClient, _ make: ([UInt8]) -> [[UInt8]]
  ) throws -> [HostileRow.Variant] {
    try (0..<2).flatMap { index in
      try lists(
        hostile,
        make(hostile.authority.chain[index]).map { row in
          var chain = hostile.authority.chain
          chain[index] = row
          return chain
        })
    }
  }

  static let chains = chainsRows + chainDates

  private static let chainsRows: [HostileRow] = [
    .refused("X1", 401) { hostile in try x5c(hostile, ["[]", "[\"\",\"\",\"\"]"]) },
    .refused("X1", 401, codes: ["x5c_missing"]) { hostile in
      [.jws("missing", try hostile.fresh(header: Array(#"{"alg":"ES256"}"#.utf8)))]
    },
    .refused("X1", 400) { hostile in
      try x5c(
        hostile,
        [
          "null", "\"\(ForgedJWS.base64(hostile.authority.chain[0]))\"", "[1,2,3]", "{}", "true",
          "[[],[],[]]", "[\"\(ForgedJWS.base64(hostile.authority.chain[0]))\",null,null]",
        ])
    },
    .refused("X2", 401, codes: ["x5c_length"]) { hostile in
      let chain = hostile.authority.chain
      return try lists(
        hostile,
        [
          Array(chain.prefix(1)), Array(chain.prefix(2)), chain + [chain[2]],
          chain + chain.prefix(2), [chain[0], chain[1], chain[1], chain[2]],
          [[UInt8]](repeating: [0], count: 1000),
        ])
    },
    .refused("X3", 401, codes: ["intermediate_authority", "chain_path"]) {
      hostile in try strangers(hostile, third: { $0 })
    },
    .refused("X4", 401, codes: ["intermediate_authority", "chain_path"]) { hostile in
      let stranger = try Authority()
      let chain = Array(stranger.chain.prefix(2))
      return try strangers(hostile, third: { _ in hostile.authority.root })
        + [stranger.root, hostile.authority.root].map { third in
          .jws("stranger", try hostile.fresh(chain: chain + [third], key: stranger.leafKey))
        }
    },
    .accepted("X5") { hostile in
      let chain = hostile.authority.chain
      return try lists(
        hostile,
        [[0x30, 0x03, 0x01], [], chain[0], chain[1], chain[2] + [0], try Authority().root].map {
          [chain[0], chain[1], $0]
        })
    },
    .refused("X6", 401) { hostile in
      let (leaf, middle, root) = (
        hostile.authority.chain[0], hostile.authority.chain[1], hostile.authority.chain[2]
      )
      return try lists(
        hostile,
        [
          [root, middle, leaf], [middle, leaf, root], [leaf, leaf, root], [middle, middle, root],
          [leaf, root, root], [leaf, root, middle], [root, root, root],
        ])
    },
    .refused("X7", 401) { hostile in
      let good = hostile.authority.chain.map(ForgedJWS.base64)
      let leaf = good[0]
      let (start, rest) = (String(leaf.prefix(64)), String(leaf.dropFirst()))
      let rows: [String] = [
        "\(leaf)=", "\(leaf)====", "=\(leaf)", String(leaf.dropLast()), " \(leaf)", "\(leaf)\\n",
        "\(start)\\n\(leaf.dropFirst(64))", "%\(rest)", "-\(rest)", "_\(rest)",
        "\\u0000\(leaf)",
        "-----BEGIN CERTIFICATE-----\\n\(leaf)\\n-----END CERTIFICATE-----",
      ]
      return try x5c(hostile, rows.map { "[\"\($0)\",\"\(good[1])\",\"\(good[2])\"]" })
        + x5c(hostile, rows.map { "[\"\(good[0])\",\"\($0)\",\"\(good[2])\"]" })
    },
    .refused("X8", 401, codes: ["certificate_der"]) { hostile in
      try replaced(hostile) { der -> [[UInt8]] in
        let indefinite: [UInt8] = [0x30, 0x80] + Array(der.dropFirst(4)) + [0, 0]
        let padded: [UInt8] = [0x30, 0x83, 0x00] + Array(der[2...])
        let long: [UInt8] = der + [UInt8](repeating: 0, count: 100 * 1024)
        return [
          Array("not a certificate at all".utf8), [], [0x30], [0x30, 0x00], der + [0], der + der,
          [0] + der, Array(der.dropLast()), Array(der.prefix(100)),
          indefinite, padded, long, der + [UInt8](repeating: 0, count: 8 * 1024),
          [UInt8](repeating: 0x30, count: 4000), [UInt8](repeating: 0x30, count: 20_000),
          CertificateMaker.pem(der),
        ]
      }
    },
    .accepted("X9") { hostile in try forged(hostile, [{ _ in }]) },
    .refused("X9", 401, codes: ["leaf_marker", "intermediate_marker"]) { hostile in
      let critical = { CertificateExtension(oid: $0, critical: true, der: [0x05, 0x00]) }
      return try forged(
        hostile,
        [
          { $0.leaf.replace(leafMarker, by: nil) },
          { $0.intermediate.replace(middleMarker, by: nil) },
          {
            $0.leaf.replace(leafMarker, by: .marker(middleMarker))
            $0.intermediate.replace(middleMarker, by: .marker(leafMarker))
          },
          {
            $0.leaf.replace(leafMarker, by: nil)
            $0.leaf.subject[0].text = leafMarker
          },
          { $0.leaf.replace(leafMarker, by: critical(leafMarker)) },
          { $0.intermediate.replace(middleMarker, by: critical(middleMarker)) },
        ])
    },
    .refused(
      "X10", 401,
      codes: ["intermediate_authority", "intermediate_key_usage", "certificate_invalid"]
    ) { hostile in
      try forged(
        hostile,
        [
          { $0.intermediate.replace(constraints, by: .basicConstraints(ca: false)) },
          { $0.intermediate.replace(constraints, by: nil) },
          {
            $0.intermediate.replace(
              constraints, by: .basicConstraints(ca: true, pathLength: 0, critical: false))
          },
          { $0.intermediate.replace(usage, by: .keyUsage([.cRLSign])) },
          { $0.intermediate.replace(usage, by: .keyUsage([.digitalSignature])) },
          { $0.intermediate.replace(usage, by: nil) },
        ])
    },
    .refused("X11", 401) { try chainsTooLong($0) },
    .refused("X12", 401, codes: ["leaf_authority", "leaf_key_usage", "leaf_purpose"]) { hostile in
      // TLS servers and clients, and code (RFC 5280 section 4.2.1.12).
      try forged(
        hostile,
        [
          { $0.leaf.replace(constraints, by: .basicConstraints(ca: true)) },
          { $0.leaf.replace(usage, by: .keyUsage([.keyCertSign])) },
        ]
          + (1...3).map { number in
            { $0.leaf.extensions.append(purpose("1.3.6.1.5.5.7.3.\(number)")) }
          })
    },
    // Apple's libraries accept each of these, and Apple may issue it any day.
    .accepted("J17c") { hostile in
      try forged(
        hostile,
        [
          { $0.leaf.replace(usage, by: nil) },
          { $0.leaf.replace(usage, by: .keyUsage([.digitalSignature, .keyCertSign])) },
          { $0.leaf.extensions.append(purpose("2.5.29.37.0")) },
          { $0.leaf.extensions.append(purpose("1.2.840.113635.100.4.99")) },
          { $0.leaf.replace(constraints, by: nil) }, { $0.leaf.replace("2.5.29.35", by: nil) },
          {
            $0.leaf.extensions.append(
              CertificateExtension(oid: "1.3.6.1.4.1.99999.7", der: [5, 0]))
          },
          {
            $0.intermediateKey = try .generate(.ed25519)
            $0.leaf.replace("2.5.29.35", by: nil)
          }, { $0.leaf.subject[0].text = "Another name" },
        ])
    },
    .refused(
      "X13", 401, codes: ["leaf_key", "certificate_key", "chain_path", "certificate_invalid"]
    ) { hostile in
      try forged(
        hostile,
        [SigningKey.Kind.p384, .rsa2048, .ed25519].map { kind in
          { $0.leafKey = try .generate(kind) }
        }) + edited(hostile, otherKeys)
    },
    .refused("X13", 401, codes: ["certificate_key"]) { try otherForms($0) },
    .refused("X14", 401, codes: ["certificate_signature"]) { hostile in
      try forged(hostile, [{ $0.leaf.digest = .sha1 }, { $0.intermediate.digest = .sha1 }])
    },
    .refused("X15", 401, codes: ["chain_path"]) { hostile in
      let unknown = CertificateExtension(
        oid: "1.3.6.1.4.1.99999.7", critical: true, der: [0x05, 0])
      return try forged(
        hostile,
        [{ $0.leaf.extensions.append(unknown) }, { $0.intermediate.extensions.append(unknown) }])
    },
    .refused("X16", 401, codes: ["chain_path"]) { hostile in
      try forged(
        hostile,
        [
          { forgery in
            let der = try forgery.leaf.make(
              for: forgery.leafKey, signedBy: forgery.intermediateKey)
            let subject = DERNode(der[...]).children[0].children[5].encoded
            forgery.intermediate.extensions.append(nameConstraints(0xA1, subject))
          },
          { forgery in
            let country = DERWriter.set(
              DERWriter.sequence(DERWriter.oid("2.5.4.6"), DERWriter.printable("ZZ")))
            forgery.intermediate.extensions.append(
              nameConstraints(0xA0, DERWriter.sequence(country)))
          },
        ])
    },
    .refused("X17", 401, codes: ["chain_path"]) { hostile in
      let other = try SigningKey.generate(.p384)
      return try forged(
        hostile,
        [
          { $0.leaf.issuer[0].text = "Somebody" }, { $0.intermediate.issuer[0].text = "Somebody" },
          { $0.leaf.replace("2.5.29.35", by: try .authorityKeyIdentifier(other)) },
          { $0.intermediate.replace("2.5.29.35", by: try .authorityKeyIdentifier(other)) },
          { $0.leafSigner = other }, { $0.intermediateSigner = other },
        ])
    },
    // The algorithm in the signed part is another than the one outside of it.
    .refused("X17", 401) { hostile in
      let algorithm = DERNode(DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.3.2"))[...])
      let forgery = try ChainForgery(under: hostile.authority)
      return try forged(hostile, [{ $0.leafEdit = { $0.children[2] = algorithm } }])
        + (0..<2).map { index in
          var chain = try forgery.chain()
          var whole = DERNode(chain[index][...])
          whole.children[1] = algorithm
          chain[index] = whole.encoded
          return .jws("outer", try hostile.fresh(chain: chain, key: forgery.leafKey))
        }
    },
  ]

  /// Leaves and intermediates with these changes.
  private static func odd(
    _ hostile: HostileClient, _ changes: [(inout DERNode) -> Void]
  ) throws -> [HostileRow.Variant] {
    try forged(hostile, changes.map { change in { $0.leafEdit = change } })
      + forged(hostile, changes.map { change in { $0.intermediateEdit = change } })
  }

  private static func purpose(_ oid: String) -> CertificateExtension {
    CertificateExtension(oid: "2.5.29.37", der: DERWriter.sequence(DERWriter.oid(oid)))
  }

  private static func nameConstraints(_ tag: UInt8, _ name: [UInt8]) -> CertificateExtension {
    let subtree = DERWriter.sequence(DERWriter.element(0xA4, name))
    return CertificateExtension(
      oid: "2.5.29.30", critical: true, der: DERWriter.sequence(DERWriter.element(tag, subtree)))
  }

  /// Untrusted roots with Apple's name, and with the trusted root's name and key identifier.
  private static func strangers(
    _ hostile: HostileClient, third: ([UInt8]) -> [UInt8]
  ) throws -> [HostileRow.Variant] {
    let key = try SigningKey.generate(.p256)
    var own = try CertificateMaker.leaf(key, issuer: try .root(key), issuerKey: key)
    own.issuer = own.subject
    own.extensions.append(.marker(middleMarker))
    let leaf = try own.make(for: key, signedBy: key)
    var rows = [
      HostileRow.Variant.jws(
        "self-signed", try hostile.fresh(chain: [leaf, leaf, third(leaf)], key: key))
    ]
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
      root.replace("2.5.29.14", by: try .subjectKeyIdentifier(hostile.authority.rootKey))
      let der = try root.make(for: rootKey, signedBy: rootKey)
      var forgery = try ChainForgery(under: hostile.authority)
      forgery.intermediate.issuer = name
      forgery.intermediateSigner = rootKey
      let chain = Array(try forgery.chain().prefix(2)) + [third(der)]
      rows.append(.jws(name[0].text, try hostile.fresh(chain: chain, key: forgery.leafKey)))
    }
    return rows
  }

  @Sendable private static func chainsTooLong(_ hostile: HostileClient) throws -> [HostileRow
    .Variant]
  {
    let forgery = try ChainForgery(under: hostile.authority)
    let real = try forgery.chain()
    let key = try SigningKey.generate(.p256)
    var forged = try CertificateMaker.leaf(key, issuer: forgery.leaf, issuerKey: forgery.leafKey)
    forged.issuer = forgery.leaf.subject
    let der = try forged.make(for: key, signedBy: forgery.leafKey)
    let subKey = try SigningKey.generate(.p384)
    var sub = try CertificateMaker.intermediate(
      subKey, issuer: forgery.intermediate, issuerKey: forgery.intermediateKey)
    sub.subject[0].text = "Another authority"
    let subDER = try sub.make(for: subKey, signedBy: forgery.intermediateKey)
    let end = try CertificateMaker.leaf(key, issuer: sub, issuerKey: subKey)
    let endDER = try end.make(for: key, signedBy: subKey)
    return try [
      [der, real[0], real[1]], [der, real[0], real[2]], [der, real[1], real[2]],
      [endDER, subDER, real[1]], [endDER, subDER, real[2]],
    ].map { .jws("too long", try hostile.fresh(chain: $0, key: key)) }
  }

  private static let p256 = DERWriter.oid("1.2.840.10045.3.1.7")

  /// A SubjectPublicKeyInfo (RFC 5480).
  private static func key(_ curve: [UInt8], _ point: [UInt8]) -> DERNode {
    let algorithm = DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), curve)
    return DERNode(DERWriter.sequence(algorithm, DERWriter.bits(point))[...])
  }

  /// Leaves with these keys.
  private static func edited(_ hostile: HostileClient, _ keys: [DERNode]) throws -> [HostileRow
    .Variant]
  {
    try forged(hostile, keys.map { key in { $0.leafEdit = { $0.children[6] = key } } })
  }

  private static let otherKeys: [DERNode] = [
    // The generators of secp256k1 and P-521 (SEC 2 sections 2.4.1 and 2.6.1).
    (
      DERWriter.oid("1.3.132.0.10"),
      "0479BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798"
        + "483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8"
    ),
    (
      DERWriter.oid("1.3.132.0.35"),
      "0400C6858E06B70404E9CD9E3ECB662395B4429C648139053FB521F828AF606B4D3DBAA14B5E77EFE75928FE"
        + "1DC127A2FFA8DE3348B3C1856A429BF97E7E31C2E5BD66011839296A789A3BC0045C8A5FB42C7D1BD998F5"
        + "4449579B446817AFBD17273E662C97EE72995EF42640C550B9013FAD0761353C7086A272C24088BE94769F"
        + "D16650"
    ),
    // The point at infinity, and points that are not on the curve.
    (p256, "00"), (p256, "04" + String(repeating: "11", count: 64)),
    (p256, "04" + String(repeating: "00", count: 64)),
  ].map { curve, point in key(curve, Hexadecimal.decode(point) ?? []) }

  /// The leaf's own key in other encodings, under which its signature is valid, and other encodings
  /// in the intermediate: OpenSSL decodes each key before any signature is verified.
  @Sendable private static func otherForms(_ hostile: HostileClient) throws -> [HostileRow
    .Variant]
  {
    let own = { (forgery: ChainForgery, form: UInt8) -> DERNode in
      let point = Array(try forgery.leafKey.publicKey().suffix(65))
      return switch form {
      case 2: key(p256, [2 + point[64] % 2] + point[1...32])
      case 4: key(explicitP256, point)
      default: key(p256, [6 + point[64] % 2] + point[1...])
      }
    }
    let leaves = try forged(
      hostile,
      ([2, 4, 6] as [UInt8]).map { form in
        { forgery in
          let key = try own(forgery, form)
          forgery.leafEdit = { $0.children[6] = key }
        }
      })
    let intermediates = [
      key(DERWriter.oid("1.3.132.0.34"), [2] + [UInt8](repeating: 0x11, count: 48)),
      key(explicitP256, [4] + [UInt8](repeating: 0x11, count: 64)),
    ]
    return try leaves
      + forged(
        hostile,
        intermediates.map { key in { $0.intermediateEdit = { $0.children[6] = key } } })
  }

  /// P-256 by its parameters instead of its name (SEC 1 appendix C.2): CVE-2020-0601.
  private static var explicitP256: [UInt8] {
    let a = P256Arithmetic.minus(P256Arithmetic.prime, P256Arithmetic.number(3))
    let b = "5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B"
    let g =
      "046B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296"
      + "4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5"
    return DERWriter.sequence(
      DERWriter.integer([1]),
      DERWriter.sequence(
        DERWriter.oid("1.2.840.10045.1.1"), DERWriter.integer(P256Arithmetic.prime)),
      DERWriter.sequence(DERWriter.octets(a), DERWriter.octets(Hexadecimal.decode(b) ?? [])),
      DERWriter.octets(Hexadecimal.decode(g) ?? []), DERWriter.integer(P256Arithmetic.order),
      DERWriter.integer([1]))
  }

  // MARK: Dates, the cache, odd fields

  private static let day: Int64 = 86_400_000

  private static let chainDates: [HostileRow] = [
    .refused("X18", 401, codes: ["chain_dates", "certificate_dates"]) { hostile in
      let date = Sample.start
      let spans = [
        (date - 90 * day, date - day), (date + day, date + 90 * day), (date + day, date - day),
        (date - day, date - 1000), (date + 1000, date + 90 * day),
      ]
      return try spans.flatMap { from, to in
        try [true, false].map { isLeaf in
          .jws(
            "\(isLeaf)",
            try hostile.forged(signed: date) {
              if isLeaf {
                ($0.leaf.notBefore, $0.leaf.notAfter) = (from, to)
              } else {
                ($0.intermediate.notBefore, $0.intermediate.notAfter) = (from, to)
              }
            })
        }
      }
    },
    // Both ends belong to the period, for a new chain and for a known one.
    .accepted("X18") { hostile in
      let date = Sample.start
      return try [(date - day, date), (date, date + day), (date, date + 1000)].flatMap { from, to in
        var edge = try ChainForgery(under: hostile.authority)
        (edge.leaf.notBefore, edge.leaf.notAfter) = (from, to)
        let chain = try edge.chain()
        return try (0..<2).map {
          HostileRow.Variant.jws(
            "ends \($0)", try hostile.signed(date, chain: chain, key: edge.leafKey))
        }
      }
    },
    .accepted("X19") { hostile in
      let now = Clock.now()
      return [
        .jws("retry", try hostile.forged(signed: now - 3 * day) { $0.leaf.notAfter = now - day })
      ]
    },
    .scripted("X20") { hostile in
      let now = Clock.now()
      var forgery = try ChainForgery(under: hostile.authority)
      forgery.leaf.notAfter = now - day
      let chain = try forgery.chain()
      func signed(_ date: Int64) throws -> HostileRow.Variant {
        .jws("\(date)", try hostile.signed(date, chain: chain, key: forgery.leafKey))
      }
      for late in [now, now - day + 1001, now + 20 * 365 * day] {
        try hostile.accepts("X20", try signed(now - 3 * day))
        try hostile.refuses("X20", try signed(late), [401], codes: ["chain_dates"])
      }
      try hostile.accepts("X20", try signed(now - 2 * day))
    },
    .scripted("X21") { hostile in
      let stranger = try Authority()
      let client = hostile.daemon.client()
      let before = try hostile.state()
      for index in 0..<200 {
        var forgery = try ChainForgery(under: stranger)
        forgery.leaf.subject[0].text = "\(index)"
        let jws = try hostile.fresh(chain: try forgery.chain(), key: forgery.leafKey)
        #expect(client.post(ForgedJWS.body(jws))?.status == 401, "X21")
      }
      #expect(try hostile.state() == before, "X21")
      try hostile.settle()
      try hostile.accepts("X21", .jws("good", try hostile.fresh()))
    },
    .coveredBy("X22", "CertificateTests"),
    .refused("X23", 401, codes: ["leaf_marker"]) { hostile in
      try forged(
        hostile,
        [
          "1.2.840.113635.100.6.1.2", "1.2.840.113635.100.6.1.4", "1.2.840.113635.100.6.11",
          "1.2.840.113635.100.6.11.1.1", "1.2.840.113635.100.6.11.10",
        ].map { purpose in { $0.leaf.replace(leafMarker, by: .marker(purpose)) } })
    },
    .refused(
      "X25", 401,
      codes: [
        "certificate_extensions", "certificate_serial", "certificate_version",
        "certificate_invalid",
      ]
    ) { hostile in
      try odd(
        hostile,
        [
          { $0.children[7].children[0].children.append($0.children[7].children[0].children[0]) },
          { $0.children[1] = DERNode(tag: 0x02, content: [0xFF, 0x01]) },
          { $0.children[1] = DERNode(tag: 0x02, content: [UInt8](repeating: 0x11, count: 40)) },
          { $0.children.remove(at: 0) },
        ])
    },
    .refused("X25", 401) { hostile in
      let times = ["261301000000Z", "260230000000Z", "2601010000Z", "260101000000", "x", ""]
      let dates = times.map { time -> (inout DERNode) -> Void in
        { $0.children[4].children[0] = DERNode(tag: 0x17, content: Array(time.utf8)) }
      }
      return try odd(
        hostile,
        dates + [
          {
            $0.children.remove(at: 7)
            $0.children.remove(at: 0)
          }
        ])
    },
    .accepted("X25") { hostile in
      try forged(hostile, [{ $0.leaf.notAfter = 253_402_300_799_000 }])
    },
  ]
}
