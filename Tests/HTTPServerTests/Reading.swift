import HTTPServer

/// One action of a parser, in a form that can be compared.
enum Outcome: Equatable, CustomStringConvertible {
  case head(String)
  case proceed
  case request(String, body: [UInt8])
  case refused(Int)

  var description: String {
    switch self {
    case .head(let line): "head \(line)"
    case .proceed: "100"
    case .request(let line, let body): "request \(line) +\(body.count)"
    case .refused(let status): "refused \(status)"
    }
  }
}

/// Passes `parts` to a new parser whose caller admits every body up to `limit` bytes.
func outcomes(_ parts: [[UInt8]], limit: Int = 1000) -> [Outcome] {
  var parser = RequestParser(limits: ServerLimits(), peer: .local(user: 0))
  var outcomes: [Outcome] = []
  for part in parts {
    var cursor = 0
    feeding: while true {
      switch parser.consume(part.span, at: &cursor) {
      case .needMore: break feeding
      case .head(let head):
        outcomes.append(.head("\(head.method) \(head.path)"))
        parser.admit(bodyLimit: limit)
      case .sendContinue: outcomes.append(.proceed)
      case .request(let request):
        outcomes.append(.request("\(request.method) \(request.path)", body: request.body))
      case .refuse(let status): return outcomes + [.refused(status)]
      }
    }
  }
  return outcomes
}

func outcomes(_ text: String, limit: Int = 1000) -> [Outcome] {
  outcomes([Array(text.utf8)], limit: limit)
}

/// The status of the refusal; nil if nothing is refused.
func refusal(_ text: String, limit: Int = 1000) -> Int? {
  refusal(Array(text.utf8), limit: limit)
}

func refusal(_ bytes: [UInt8], limit: Int = 1000) -> Int? {
  if case .refused(let status) = outcomes([bytes], limit: limit).last { return status }
  return nil
}

func post(_ headers: String, _ body: String = "") -> String {
  "POST /v1/notifications HTTP/1.1\r\nHost: h\r\n\(headers)\r\n\(body)"
}

func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked\r\n", body) }
