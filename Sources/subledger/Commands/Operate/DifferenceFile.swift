import Glibc
import Platform
import StrictJSON

/// What makes the exit code of a comparison 1: the value of `--fail-on`.
enum FailOn: String {
  case any
  case lostAccess = "lost-access"
  case gainedAccess = "gained-access"

  init(_ arguments: Arguments) throws(LedgerError) {
    guard let known = FailOn(rawValue: arguments["--fail-on"] ?? "any") else {
      throw .usage("--fail-on takes any, lost-access or gained-access")
    }
    self = known
  }

  func isMet(differing: Int, losing: Int, gaining: Int) -> Bool {
    switch self {
    case .any: differing > 0
    case .lostAccess: losing > 0
    case .gainedAccess: gaining > 0
    }
  }
}

/// Writes every difference to the file of `--output`, as CSV or JSON by the end of its name.
final class DifferenceFile {
  private let file: AtomicFileWriter
  private let isJSON: Bool
  private var count = 0

  /// Nil without `--output`.
  ///
  /// - Parameter columns: the first line of a CSV file.
  init?(_ arguments: Arguments, columns: String) throws(LedgerError) {
    guard let path = arguments["--output"] else { return nil }
    isJSON = path.hasSuffix(".json")
    guard isJSON || path.hasSuffix(".csv") else {
      throw .usage("--output takes a file whose name ends in .csv or .json")
    }
    do throws(LedgerError) {
      guard try FileKind.of(path) == nil else { throw .system("make \(path)", EEXIST) }
      file = try AtomicFileWriter(path)
      try file.write(isJSON ? "{\"object\":\"list\",\"items\":[" : columns + "\n")
    } catch {
      throw .unavailable(error.detail)
    }
  }

  func write(csv: String, json: JSONValue) throws(LedgerError) {
    count += 1
    let separator = count > 1 ? ",\n" : "\n"
    try file.write(isJSON ? separator + json.text : csv + "\n")
  }

  func finish() throws(LedgerError) {
    if isJSON { try file.write("\n]}\n") }
    try file.finish()
  }
}
