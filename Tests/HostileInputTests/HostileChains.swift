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
    .refused("X1", 401) { hostile in
      try x5c(hostile, ["[]", "[\"\",\"\",\"\"]"])
        + [.jws("missing", try hostile.fresh(header: Array(#"{"alg":"ES256"}"#.utf8)))]
    },
    .refused("X1", 400) { hostile in
      try x5c(
        hostile,
        [
          "null", "\"\(ForgedJWS.base64(hostile.authority.chain[0]))\"", "[1,2,3]", "{}", "true",
          "[[],[],[]]",
        ])
    },
    .refused("X2", 401) { hostile in
      let chain = hostile.authority.chain
      return try lists(
        hostile,
        [
          Array(chain.prefix(1)), Array(chain.prefix(2)), chain + [chain[2]],
          chain + chain.prefix(2),
          [[UInt8]](repeating: [0], count: 1000),
        ])
    },
    .refused("X3", 401) { hostile in try strangers(hostile, third: { $0 }) },
    .refused("X4", 401) { hostile in
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
        [[0x30, 0x03, 0x01], [], chain[0], chain[1], chain[2] + [0]].map {
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
        "\(leaf)=", "=\(leaf)", String(leaf.dropLast()), " \(leaf)", "\(leaf)\\n",
        "\(start)\\n\(leaf.dropFirst(64))", "%\(rest)", "-\(rest)", "_\(rest)",
        "\\u0000\(leaf)",
        "-----BEGIN CERTIFICATE-----\\n\(leaf)\\n-----END CERTIFICATE-----",
      ]
      return try x5c(hostile, rows.map { "[\"\($0)\",\"\(good[1])\",\"\(good[2])\"]" })
        + x5c(hostile, rows.map { "[\"\(good[0])\",\"\($0)\",\"\(good[2])\"]" })
    },
    .refused("X8", 401) { hostile in
      try replaced(hostile) { der -> [[UInt8]] in
        let indefinite: [UInt8] = [0x30, 0x80] + Array(der.dropFirst(4)) + [0, 0]
        let padded: [UInt8] = [0x30, 0x83, 0x00] + Array(der[2...])
        let long: [UInt8] = der + [UInt8](repeating: 0, count: 100 * 1024)
        return [
          Array("not a certificate at all".utf8), [], [0x30, 0x00], der + [0], der + der,
          [0] + der, Array(der.dropLast()), Array(der.prefix(100)),
          indefinite, padded, long,
          [UInt8](repeating: 0x30, count: 20_000), CertificateMaker.pem(der),
        ]
      }
    },
    .refused("X9", 401) { hostile in
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
    .refused("X10", 401) { hostile in
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
          { $0.intermediate.replace(usage, by: nil) },
        ])
    },
    .refused("X11", 401) { try chainsTooLong($0) },
    .refused("X12", 401) { hostile in
      let purpose = DERWriter.sequence(DERWriter.oid("1.3.6.1.5.5.7.3.1"))
      return try forged(
        hostile,
        [
          { $0.leaf.replace(constraints, by: .basicConstraints(ca: true)) },
          { $0.leaf.replace(usage, by: .keyUsage([.keyCertSign])) },
          { $0.leaf.extensions.append(CertificateExtension(oid: "2.5.29.37", der: purpose)) },
        ])
    },
    .refused("X13", 401) { try otherKeys($0) },
    .refused("X14", 401) { hostile in
      try forged(hostile, [{ $0.leaf.digest = .sha1 }, { $0.intermediate.digest = .sha1 }])
    },
    .refused("X15", 401) { hostile in
      let unknown = CertificateExtension(
        oid: "1.3.6.1.4.1.99999.7", critical: true, der: [0x05, 0])
      return try forged(
        hostile,
        [{ $0.leaf.extensions.append(unknown) }, { $0.intermediate.extensions.append(unknown) }])
    },
    .refused("X16", 401) { hostile in
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
    .refused("X17", 401) { hostile in
      let other = try SigningKey.generate(.p384)
      let algorithm = DERWriter.sequence(DERWriter.oid("1.2.840.10045.4.3.2"))
      return try forged(
        hostile,
        [
          { $0.leaf.issuer[0].text = "Somebody" }, { $0.intermediate.issuer[0].text = "Somebody" },
          { $0.leaf.replace("2.5.29.35", by: try .authorityKeyIdentifier(other)) },
          { $0.intermediate.replace("2.5.29.35", by: try .authorityKeyIdentifier(other)) },
          { $0.leafSigner = other }, { $0.intermediateSigner = other },
          { $0.leafEdit = { $0.children[2] = DERNode(algorithm[...]) } },
        ])
    },
  ]

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

  @Sendable private static func otherKeys(_ hostile: HostileClient) throws -> [HostileRow.Variant] {
    let point = { (form: UInt8, curve: String, forgery: ChainForgery) -> DERNode in
      let whole = Array(try forgery.leafKey.publicKey().suffix(65))
      let text: [UInt8] =
        switch form {
        case 2: [2 + whole[64] % 2] + whole[1...32]
        case 6: [6 + whole[64] % 2] + whole[1...]
        default: whole
        }
      let key = DERWriter.sequence(
        DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), DERWriter.oid(curve)),
        DERWriter.bits(
          form == 0 ? [0] : form == 1 ? [4] + [UInt8](repeating: 0x11, count: 64) : text))
      return DERNode(key[...])
    }
    let kinds = try forged(
      hostile,
      [SigningKey.Kind.p384, .rsa2048, .ed25519].map { kind in { $0.leafKey = try .generate(kind) }
      })
    // At infinity, off the curve, compressed, hybrid; and the same bytes as a secp256k1 key.
    let forms: [(UInt8, String)] = [
      (0, "1.2.840.10045.3.1.7"), (1, "1.2.840.10045.3.1.7"), (2, "1.2.840.10045.3.1.7"),
      (6, "1.2.840.10045.3.1.7"), (4, "1.3.132.0.10"),
    ]
    return try kinds
      + forged(
        hostile,
        forms.map { form, curve in
          { forgery in
            let node = try point(form, curve, forgery)
            forgery.leafEdit = { $0.children[6] = node }
          }
        })
  }

  // MARK: Dates, the cache, odd fields

  private static let day: Int64 = 86_400_000

  private static let chainDates: [HostileRow] = [
    .refused("X18", 401) { hostile in
      let date = Sample.start
      let spans = [
        (date - 90 * day, date - day), (date + day, date + 90 * day), (date + day, date - day),
        (date - day, date - 1000),
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
      let header = ForgedJWS.header(try forgery.chain())
      func signed(_ date: Int64) throws -> HostileRow.Variant {
        let payload = hostile.notification().setting("signedDate", .integer(date))
          .setting("data.transaction", nil).setting("data.renewalInfo", nil)
        return .jws(
          "\(date)",
          try ForgedJWS.jws(header: header, payload: payload.bytes, key: forgery.leafKey))
      }
      for _ in 0..<2 {
        try hostile.accepts("X20", try signed(now - 3 * day))
        try hostile.refuses("X20", try signed(now), [401])
      }
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
    .refused("X23", 401) { hostile in
      try forged(
        hostile,
        [
          "1.2.840.113635.100.6.1.2", "1.2.840.113635.100.6.1.4", "1.2.840.113635.100.6.11",
          "1.2.840.113635.100.6.11.1.1",
        ].map { purpose in { $0.leaf.replace(leafMarker, by: .marker(purpose)) } })
    },
    .refused("X25", 401) { hostile in
      let odd: [@Sendable (inout DERNode) -> Void] = [
        { $0.children[7].children[0].children.append($0.children[7].children[0].children[0]) },
        { $0.children[1] = DERNode(tag: 0x02, content: [0xFF, 0x01]) },
        { $0.children[1] = DERNode(tag: 0x02, content: [UInt8](repeating: 0x11, count: 40)) },
        { $0.children.remove(at: 0) },
        { $0.children[4].children[0] = DERNode(tag: 0x17, content: Array("261301000000Z".utf8)) },
      ]
      return try forged(hostile, odd.map { surgery in { $0.leafEdit = surgery } })
        + forged(hostile, odd.map { surgery in { $0.intermediateEdit = surgery } })
    },
    .accepted("X25") { hostile in
      try forged(hostile, [{ $0.leaf.notAfter = 253_402_300_799_000 }])
    },
  ]
}
