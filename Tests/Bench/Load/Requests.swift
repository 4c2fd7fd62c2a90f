/// The HTTP requests of a load, by number.
protocol Requests {
  var count: Int { get }
  /// Replaces the content of `bytes` by a request.
  ///
  /// - Throws: `BenchError.unmeasurable` if its body cannot be read.
  func write(_ number: Int, to bytes: inout [UInt8]) throws(BenchError)
}

/// POSTs whose bodies are lines of a file.
struct Posts: Requests {
  let file: BodyFile
  let lines: Range<Int>

  var count: Int { lines.count }

  static let head = Array(
    """
    POST /v1/notifications HTTP/1.1\r
    Host: 127.0.0.1\r
    Content-Type: application/json\r
    Content-Length:\u{20}
    """.utf8)

  func write(_ number: Int, to bytes: inout [UInt8]) throws(BenchError) {
    let line = lines.lowerBound + number
    bytes.removeAll(keepingCapacity: true)
    bytes += Self.head
    bytes += "\(file.length(of: line))\r\n\r\n".utf8
    try file.append(line, to: &bytes)
  }
}

/// GETs of rows or lists, in turn, repeatedly.
struct Reads: Requests {
  let count: Int
  private let requests: [[UInt8]]

  init(_ originalTransactionIds: some Sequence<String>, count: Int? = nil) {
    self.init(paths: originalTransactionIds.map { "/v1/entitlements/\($0)" }, count: count)
  }

  init(paths: [String], count: Int? = nil) {
    requests = paths.map { path in
      Array(
        """
        GET \(path) HTTP/1.1\r
        Host: 127.0.0.1\r
        Authorization: Bearer \(RunFolder.token)\r
        \r

        """.utf8)
    }
    self.count = count ?? requests.count
  }

  func write(_ number: Int, to bytes: inout [UInt8]) { bytes = requests[number % requests.count] }
}
