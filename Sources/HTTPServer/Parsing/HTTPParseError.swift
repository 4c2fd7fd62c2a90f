/// What is wrong with the bytes of a request, as the status that says so.
enum HTTPParseError: Error {
  case malformed
  /// A chunked body passes the limit.
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
