import Testing

/// What Package.swift declares, read as text.
enum Manifest {
  /// The dependencies of each target under Sources, by its name.
  static let dependencies: [String: Set<String>] = {
    let text = Repository.files.first { $0.path == "Package.swift" }?.text ?? ""
    var found: [String: Set<String>] = [:]
    // module("Name", ["A", "B"]) or module("Name")
    for match in text.matches(of: /\bmodule\(\s*"(\w+)"(?:,\s*\[([^\]]*)\])?\s*\)/) {
      found[String(match.1)] = names(match.2 ?? "")
    }
    // Targets that are declared with more settings.
    let more = /name: "(Program|subledger|API|Store)",\s*dependencies: \[([^\]]*)\]/
    for match in text.matches(of: more) {
      found[String(match.1)] = names(match.2)
    }
    return found
  }()

  private static func names(_ list: Substring) -> Set<String> {
    Set(list.matches(of: /"(\w+)"/).map { String($0.1) })
  }
}

/// Fails with every offender on a line of its own.
func expectNone(
  _ offenders: [String], _ rule: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(
    offenders.isEmpty, "\(rule):\n\(offenders.joined(separator: "\n"))",
    sourceLocation: sourceLocation)
}
