/// Text as PostgreSQL stores it, which knows no U+0000. Apple's texts have none; what proves a V1
/// notification is its secret alone, so it can have one.
enum StoredText {
  private static let escape: Unicode.Scalar = "\u{10FFFF}"

  static func encode(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { $0.value == 0 || $0 == escape }) else {
      return text
    }
    var encoded = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      guard scalar.value == 0 || scalar == escape else {
        encoded.append(scalar)
        continue
      }
      encoded.append(escape)
      encoded.append(scalar == escape ? "1" : "0")
    }
    return String(encoded)
  }

  static func decode(_ text: String) -> String {
    guard text.unicodeScalars.contains(escape) else { return text }
    var decoded = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if isEscaped {
        decoded.append(scalar == "1" ? escape : "\0")
        isEscaped = false
      } else if scalar == escape {
        isEscaped = true
      } else {
        decoded.append(scalar)
      }
    }
    return String(decoded)
  }
}
