import HTTPServer

/// Whether the body of a request is declared as JSON in UTF-8 that is not compressed.
enum JSONMediaType {
  /// Accepts a missing Content-Type, because parsing soon shows whether the body is JSON.
  static func isDeclared(in headers: HTTPHeaders) -> Bool {
    let encodings = headers.all("Content-Encoding")
    guard encodings.allSatisfy({ $0.lowercased() == "identity" }) else { return false }
    let types = headers.all("Content-Type")
    guard let type = types.first else { return true }
    guard types.count == 1 else { return false }
    // The usual spelling, without allocations.
    if type == "application/json" { return true }
    let parts = type.lowercased().split(separator: ";").map { part in
      String(part.filter { $0 != " " && $0 != "\t" && $0 != "\"" })
    }
    return parts.first == "application/json"
      && parts.dropFirst().allSatisfy { $0 == "charset=utf-8" }
  }
}
