import AppStoreSimulator
import Platform

/// The processor time of requests that are refused, each kind made to cost as much as it can.
///
/// Anyone can send them, so that none may cost many times what a genuine notification costs.
struct RefusalCost {
  /// A kind of request: its name in JSON and in the table, and the body of the request of a number.
  private struct Kind {
    let name: String
    let what: String
    let body: (Int) -> [UInt8]
  }

  /// Requests of each kind.
  private static let count = 3_000

  private let chain: [[UInt8]]
  /// The payload and the signature segment of a genuine notification.
  private let payload: [UInt8]
  private let signature: [UInt8]

  /// - Throws: `BenchError.unmeasurable` if nothing can be signed.
  init(_ authority: SimulatedAuthority) throws(BenchError) {
    chain = authority.chain
    let content = Array(#"{"signedDate":1767225600000,"data":{}}"#.utf8)
    guard let jws = try? authority.sign(payload: content) else {
      throw .unmeasurable("could not sign a payload")
    }
    let segments = jws.split(separator: UInt8(ascii: "."))
    (payload, signature) = (Array(segments[1]), Array(segments[2]))
  }

  /// Sends requests of each kind and adds what one costs.
  ///
  /// - Parameter genuine: processor seconds of the daemon for a genuine notification.
  /// - Throws: `BenchError.unmeasurable` if one is accepted, or the daemon does not answer.
  func measure(
    _ usage: ProcessUsage, _ port: UInt16, genuine: Double, _ report: inout Report
  ) throws(BenchError) {
    for kind in kinds {
      Bench.log("refused: \(kind.what)")
      let before = try usage.processorSeconds()
      let answers = try LoadGenerator.run(
        MadePosts(count: Self.count, body: kind.body), connections: 8, port: port, marker: "")
      let each = (try usage.processorSeconds() - before) / Double(Self.count)
      guard answers.good == 0, answers.others.keys.allSatisfy({ [400, 401].contains($0) }) else {
        throw .unmeasurable("\(kind.what): \(answers.others), not refused: \(answers.good)")
      }
      report.add(
        "refused_" + kind.name, "refused: " + kind.what, each * 1e6, "µs",
        ratio: (each / genuine, "× a genuine one"), target: (.atMost(3), .ratio))
    }
  }

  private var kinds: [Kind] {
    [
      Kind(name: "header", what: "a strange header around a known chain") { number in
        jws(header(chain, #","n":\#(number)"#))
      },
      Kind(name: "payload", what: "another payload under a known header") { number in
        let content = Array(#"{"signedDate":1767225600000,"n":\#(number)}"#.utf8)
        return jws(header(chain), payload: Base64URL.encode(content))
      },
      Kind(name: "repeated", what: "a refused chain in strange headers") { number in
        jws(header([chain[0], changed(chain[1], 0), chain[2]], #","n":\#(number)"#))
      },
      Kind(name: "leaf", what: "new leaves that the intermediate did not sign") { number in
        jws(header([changed(chain[0], number), chain[1], chain[2]]))
      },
      Kind(name: "intermediate", what: "new intermediates that the root did not sign") { number in
        jws(header([chain[0], changed(chain[1], number), chain[2]]))
      },
      Kind(name: "certificates", what: "certificates of 8 KB full of values") { number in
        let filled = filled(number)
        return jws(header([filled, filled, chain[2]]))
      },
      Kind(name: "members", what: "a body of 256 KiB full of members") { number in
        let members = (0..<16_000).map { #""k\#($0)":\#(number)"# }.joined(separator: ",")
        return Array("{\(members.prefix(262_000))}".utf8)
      },
      Kind(name: "values", what: "a payload of 190 KB full of values") { number in
        let values = "{\"n\":\(number),\"a\":[" + String(repeating: "{},", count: 60_000) + "{}]}"
        return jws(header(chain), payload: Base64URL.encode(Array(values.utf8)))
      },
      Kind(name: "escapes", what: "a header of 190 KB full of escapes") { number in
        let escapes = String(repeating: #"\u0041"#, count: 23_000)
        return jws(header(chain, #","n":\#(number),"e":"\#(escapes)""#))
      },
      Kind(name: "curve", what: "a key on a curve of the sender's choice") { number in
        jws(header([chain[0], withCurve(changed(chain[1], number)), chain[2]]))
      },
    ]
  }

  // MARK: Requests

  private func jws(_ header: [UInt8], payload other: [UInt8]? = nil) -> [UInt8] {
    let dot = [UInt8(ascii: ".")]
    return Array(#"{"signedPayload":""#.utf8) + Base64URL.encode(header) + dot + (other ?? payload)
      + dot + signature + Array(#""}"#.utf8)
  }

  private func header(_ chain: [[UInt8]], _ extra: String = "") -> [UInt8] {
    let x5c = chain.map { "\"\(String(decoding: Base64.encode($0), as: UTF8.self))\"" }
    return Array("{\"alg\":\"ES256\",\"x5c\":[\(x5c.joined(separator: ","))]\(extra)}".utf8)
  }

  /// A certificate with another signature: the last bytes of a number.
  private func changed(_ certificate: [UInt8], _ number: Int) -> [UInt8] {
    var certificate = certificate
    for place in 1...4 {
      certificate[certificate.count - place] ^= UInt8(truncatingIfNeeded: number >> (8 * place - 8))
    }
    certificate[certificate.count - 5] ^= 1
    return certificate
  }

  /// The leaf with an extension of many small values that OpenSSL parses: names in subjectAltName.
  private func filled(_ number: Int) -> [UInt8] {
    let name: [UInt8] = [0x82, 0x01, UInt8(ascii: "a")]
    let names = DERWriter.sequence([UInt8](repeatElement(name, count: 2_200).joined()))
    let more = DERWriter.sequence(DERWriter.oid("2.5.29.17"), DERWriter.octets(names))
    return edited(changed(chain[0], number)) { fields in
      let list = Array(fields[7].dropFirst(8))
      fields[7] = DERWriter.element(0xA3, DERWriter.sequence(list, more))
    }
  }

  /// A certificate whose key is a compressed point on P-384 by its parameters.
  private func withCurve(_ certificate: [UInt8]) -> [UInt8] {
    let number = { (byte: UInt8) in DERWriter.integer([UInt8](repeating: byte, count: 80)) }
    let field = DERWriter.sequence(DERWriter.oid("1.2.840.10045.1.1"), number(0x7F))
    let octets = DERWriter.octets([UInt8](repeating: 0x11, count: 80))
    let curve = DERWriter.sequence(
      DERWriter.integer([1]), field, DERWriter.sequence(octets, octets),
      DERWriter.octets([2] + [UInt8](repeating: 0x11, count: 80)), number(0x7E),
      DERWriter.integer([1]))
    return edited(certificate) { fields in
      fields[6] = DERWriter.sequence(
        DERWriter.sequence(DERWriter.oid("1.2.840.10045.2.1"), curve),
        DERWriter.bits([2] + [UInt8](repeating: 0x11, count: 80)))
    }
  }

  /// A certificate with other fields of its TBSCertificate (RFC 5280 section 4.1).
  private func edited(
    _ certificate: [UInt8], _ edit: (inout [[UInt8]]) -> Void
  ) -> [UInt8] {
    let parts = Self.values(in: certificate)
    var fields = Self.values(in: parts[0])
    edit(&fields)
    let body = DERWriter.element(0x30, fields.flatMap(\.self))
    return DERWriter.sequence(body, parts[1], parts[2])
  }

  /// The values inside a value as `CertificateMaker` writes it.
  private static func values(in value: [UInt8]) -> [[UInt8]] {
    var values: [[UInt8]] = []
    var rest = value[content(of: value[...])]
    while !rest.isEmpty {
      let end = content(of: rest).upperBound
      values.append(Array(rest[..<end]))
      rest = rest[end...]
    }
    return values
  }

  private static func content(of value: ArraySlice<UInt8>) -> Range<Int> {
    let first = Int(value[value.startIndex + 1])
    let size = first < 0x80 ? 0 : first & 0x7F
    let start = value.startIndex + 2 + size
    let count = size == 0 ? first : value[(start - size)..<start].reduce(0) { $0 << 8 | Int($1) }
    return start..<start + count
  }
}

/// POSTs whose bodies are made when they are sent.
private struct MadePosts: Requests {
  let count: Int
  let body: (Int) -> [UInt8]

  func write(_ number: Int, to bytes: inout [UInt8]) {
    let body = body(number)
    bytes = Posts.head + Array("\(body.count)\r\n\r\n".utf8) + body
  }
}
