import HTTPServer

/// The head of a request and the framing of its body. The first byte says where the input is split.
extension FuzzTarget {
  static let head = FuzzTarget("head") { input in
    guard let first = input.first else { return nil }
    return httpFault(Array(input.dropFirst()), cut: Int(first))
  }

  /// A chunked body after a valid head.
  static let chunked = FuzzTarget("chunked") { input in
    guard let first = input.first else { return nil }
    let head = "POST /v1/notifications HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    let bytes = Array(head.utf8) + input.dropFirst()
    if let fault = httpFault(bytes, cut: head.utf8.count + Int(first)) { return fault }
    guard case .request(let method, let path, _, let body)? = steps([bytes]).dropFirst().first
    else { return nil }
    // The same body in one chunk is the same request.
    let size = body.isEmpty ? [] : Array((String(body.count, radix: 16) + "\r\n").utf8)
    let again =
      Array(head.utf8) + size + body + Array((body.isEmpty ? "" : "\r\n").utf8)
      + Array("0\r\n\r\n".utf8)
    let same = steps([again]).dropFirst().first
    return same == .request(method, path, nil, body) ? nil : "one chunk gives another request"
  }

  private enum Step: Equatable {
    case head(String, String)
    case proceed
    case request(String, String, String?, [UInt8])
    case refused(Int)
  }

  private static let bodyLimit = 2000

  private static func httpFault(_ bytes: [UInt8], cut: Int) -> String? {
    let whole = steps([bytes])
    let split = min(cut, bytes.count)
    guard steps([Array(bytes[..<split]), Array(bytes[split...])]) == whole else {
      return "split at \(split) it is parsed differently"
    }
    if bytes.count < 600, steps(bytes.map { [$0] }) != whole {
      return "byte by byte it is parsed differently"
    }
    for step in whole {
      switch step {
      case .request(_, let path, let query, let body):
        guard body.count <= bodyLimit else { return "a body past the limit" }
        guard path.first == "/", isPlain(path), isPlain(query ?? "") else { return "an odd target" }
      case .head(let method, _):
        guard !method.isEmpty, method.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
          return "an odd method"
        }
      case .refused(let status):
        guard [400, 411, 413, 414, 417, 431, 505].contains(status) else { return "\(status)" }
      case .proceed: break
      }
    }
    return nil
  }

  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
  }

  private static func steps(_ parts: [[UInt8]]) -> [Step] {
    var parser = RequestParser(limits: ServerLimits(), peer: .local(user: 0))
    var steps: [Step] = []
    for part in parts {
      var cursor = 0
      feeding: while true {
        switch parser.consume(part.span, at: &cursor) {
        case .needMore: break feeding
        case .head(let head):
          steps.append(.head(head.method, head.path))
          parser.admit(bodyLimit: bodyLimit)
        case .sendContinue: steps.append(.proceed)
        case .request(let request):
          steps.append(.request(request.method, request.path, request.query, request.body))
        case .refuse(let status): return steps + [.refused(status)]
        }
      }
    }
    return steps
  }
}
