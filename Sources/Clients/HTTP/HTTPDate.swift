import CCurl

/// Dates of HTTP header fields.
public enum HTTPDate {
  /// Milliseconds since 1970 of a date in any form of RFC 9110 section 5.6.7; nil for other text.
  public static func milliseconds(_ text: String) -> Int64? {
    // curl also reads dates without a day of the week or a time, and plain numbers.
    guard text.first?.isLetter == true, text.contains(":"), text.utf8.count <= 64 else {
      return nil
    }
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Int64(seconds) * 1000
  }
}
