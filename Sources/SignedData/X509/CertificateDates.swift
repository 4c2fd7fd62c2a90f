import Platform

/// The validity of certificates, for reports. Proves nothing.
public enum CertificateDates {
  /// The validity of a certificate in milliseconds since 1970; nil if it cannot be parsed.
  public static func validity(der: [UInt8]) -> ClosedRange<Int64>? {
    guard let certificate = try? Certificate(der: der) else { return nil }
    return certificate.validity.map { $0.lowerBound * 1000...$0.upperBound * 1000 }
  }

  /// The time, in milliseconds since 1970, at which all certificates in the header of a compact JWS
  /// are valid; nil if there is no such chain or no such time.
  public static func chainValidity(jws: ArraySlice<UInt8>) -> ClosedRange<Int64>? {
    guard let dot = jws.firstIndex(of: UInt8(ascii: ".")),
      let header = try? JWSHeader(parsing: jws[..<dot])
    else { return nil }
    var window = Int64.min...Int64.max
    for text in header.certificates {
      guard let der = Base64.decode(text), let validity = validity(der: der),
        validity.overlaps(window)
      else { return nil }
      window = validity.clamped(to: window)
    }
    return window
  }
}
