/// Which addresses a request may connect to.
///
/// Judged are the bytes of the address that the socket is opened for, not the text of a URL or what
/// a name server said before: no spelling and no later answer of a name server passes by it.
public enum AddressPolicy: Sendable, Equatable {
  /// Every address: for services that the operator names and that are asked, not told.
  case any
  /// Addresses of the public internet.
  case publicOnly
  /// Those and the networks of an organisation: loopback, RFC 1918, RFC 4193, RFC 6598.
  case privateToo

  /// Whether an address may be connected to.
  ///
  /// - Parameter address: 4 bytes of an IPv4 address, or 16 of an IPv6 address, in network order.
  public func allows(_ address: [UInt8]) -> Bool {
    if self == .any { return true }
    if address.count == 4 { return allows(v4: address) }
    guard address.count == 16 else { return false }
    if let embedded = Self.embedded(address) { return allows(v4: embedded) }
    return allows(v6: address)
  }

  // MARK: Classes of addresses

  /// The first bits of a network's addresses.
  private struct Network {
    let bytes: [UInt8]
    let bits: Int

    init(_ bytes: [UInt8], _ bits: Int) { (self.bytes, self.bits) = (bytes, bits) }

    func contains(_ address: [UInt8]) -> Bool {
      for bit in 0..<bits {
        let mask = UInt8(0x80) >> (bit % 8)
        let wanted = bit / 8 < bytes.count ? bytes[bit / 8] : 0
        guard address[bit / 8] & mask == wanted & mask else { return false }
      }
      return true
    }
  }

  /// Special addresses that lead to no receiver (IANA's registry of RFC 6890): this host, link
  /// local, protocol assignments, documentation, benchmarks, multicast, reserved.
  private static let unusableV4 = [
    Network([0], 8), Network([169, 254], 16), Network([192, 0, 0], 24), Network([192, 0, 2], 24),
    Network([198, 18], 15), Network([198, 51, 100], 24), Network([203, 0, 113], 24),
    Network([224], 4), Network([240], 4),
  ]
  private static let privateV4 = [
    Network([10], 8), Network([100, 64], 10), Network([127], 8), Network([172, 16], 12),
    Network([192, 168], 16),
  ]
  /// Global unicast addresses (RFC 4291 section 2.4), and among them tunnels, which hide an IPv4
  /// address, and documentation.
  private static let globalV6 = Network([0x20], 3)
  private static let unusableV6 = [
    Network([0x20, 0x01, 0, 0], 32), Network([0x20, 0x01, 0x0D, 0xB8], 32),
    Network([0x20, 0x02], 16), Network([0x3F, 0xFF, 0x00], 20),
  ]
  private static let privateV6 = [
    Network([UInt8](repeating: 0, count: 15) + [1], 128), Network([0xFC], 7),
  ]
  /// Where machines of a cloud find their credentials, besides link-local addresses: Alibaba,
  /// Azure (a public address), Amazon's machines and its containers, Google.
  private static let metadataV4 = [
    Network([100, 100, 100, 200], 32), Network([168, 63, 129, 16], 32),
  ]
  private static let metadataV6 = [
    Network([0xFD, 0x00, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54], 128),
    Network([0xFD, 0x00, 0x0E, 0xC2] + [UInt8](repeating: 0, count: 11) + [0x23], 128),
    Network([0xFD, 0x20, 0x00, 0xCE] + [UInt8](repeating: 0, count: 10) + [0x02, 0x54], 128),
  ]

  private func allows(v4 address: [UInt8]) -> Bool {
    let refused = Self.unusableV4 + Self.metadataV4
    if refused.contains(where: { $0.contains(address) }) { return false }
    return self == .privateToo || !Self.privateV4.contains { $0.contains(address) }
  }

  private func allows(v6 address: [UInt8]) -> Bool {
    if Self.metadataV6.contains(where: { $0.contains(address) }) { return false }
    if Self.privateV6.contains(where: { $0.contains(address) }) { return self == .privateToo }
    return Self.globalV6.contains(address)
      && !Self.unusableV6.contains { $0.contains(address) }
  }

  /// The IPv4 address in a mapped one (RFC 4291 section 2.5.5.2) or in one that a NAT64 gateway
  /// translates (RFC 6052 section 2.1).
  private static func embedded(_ address: [UInt8]) -> [UInt8]? {
    let mapped = Network([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF], 96)
    let translated = Network([0x00, 0x64, 0xFF, 0x9B], 96)
    guard mapped.contains(address) || translated.contains(address) else { return nil }
    return Array(address[12...])
  }
}
