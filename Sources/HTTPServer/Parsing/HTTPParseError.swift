/// Why the bytes of a request are refused; each reason has its HTTP status.
enum HTTPParseError: Error {
  case malformed
  /// A chunked body exceeds the limit.
  case tooLarge
  case longTarget
  case largeHeader
  case version

  var status: Int {
    switch self {
    case .malformed: 400
    case .tooLarge: 413
    case .longTarget: 414
    case .largeHeader: 431
    case .version: 505
    }
  }
}
