import Foundation

/// A strict reader of Prometheus' text format 0.0.4. What a scraper would refuse or misread is a
/// fault.
package struct MetricsText {
  package struct Sample: Equatable {
    let name: String
    let labels: [String: String]
    let value: Double
  }

  package struct Family {
    var kind = ""
    var help = ""
    package var samples: [Sample] = []
  }

  package private(set) var families: [String: Family] = [:]
  package private(set) var faults: [String] = []
  private var current = ""

  package init(_ text: String) {
    if !text.hasSuffix("\n") { faults.append("the last line has no line feed") }
    for line in text.split(separator: "\n") { read(String(line)) }
    for (name, family) in families { check(name, family) }
  }

  /// The value of the sample with exactly these labels.
  package func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    for family in families.values {
      if let found = family.samples.first(where: { $0.name == name && $0.labels == labels }) {
        return found.value
      }
    }
    return nil
  }

  /// The sum over all samples that have at least these labels.
  package func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
    (families[name]?.samples ?? []).filter { sample in
      labels.allSatisfy { sample.labels[$0.key] == $0.value }
    }.map(\.value).reduce(0, +)
  }

  // MARK: Lines

  private mutating func read(_ line: String) {
    if line.hasPrefix("# ") { return readComment(line) }
    guard let sample = Self.sample(line) else { return faults.append("not a sample: \(line)") }
    let isOwn = sample.name == current
    let suffixes = ["_bucket", "_sum", "_count"]
    let isPart =
      families[current]?.kind == "histogram"
      && suffixes.contains { sample.name == current + $0 }
    guard isOwn || isPart else { return faults.append("outside its family: \(line)") }
    if families[current]?.samples.contains(where: {
      $0.name == sample.name && $0.labels == sample.labels
    }) == true {
      faults.append("twice: \(line)")
    }
    families[current]?.samples.append(sample)
  }

  private mutating func readComment(_ line: String) {
    let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
    guard parts.count == 4 else { return faults.append("not a comment: \(line)") }
    let (keyword, name, rest) = (parts[1], parts[2], parts[3])
    switch keyword {
    case "HELP":
      if families[name] != nil { faults.append("\(name) has two families") }
      families[name] = Family(help: rest)
      current = name
    case "TYPE":
      guard current == name, families[name]?.kind == "" else {
        return faults.append("TYPE apart from HELP: \(line)")
      }
      families[name]?.kind = rest
    default: faults.append("neither HELP nor TYPE: \(line)")
    }
  }

  private static func sample(_ line: String) -> Sample? {
    var rest = Substring(line)
    let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "_:".contains($0)) }
    guard let first = name.first, !first.isNumber else { return nil }
    rest = rest.dropFirst(name.count)
    var labels: [String: String] = [:]
    if rest.first == "{" {
      rest = rest.dropFirst()
      while rest.first != "}" {
        guard let (label, value) = label(&rest), labels[label] == nil else { return nil }
        labels[label] = value
        if rest.first == "," { rest = rest.dropFirst() } else if rest.first != "}" { return nil }
      }
      rest = rest.dropFirst()
    }
    guard rest.first == " ", let value = Double(rest.dropFirst()) else { return nil }
    return Sample(name: String(name), labels: labels, value: value)
  }

  private static func label(_ rest: inout Substring) -> (String, String)? {
    let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    rest = rest.dropFirst(name.count)
    guard !name.isEmpty, rest.hasPrefix("=\"") else { return nil }
    rest = rest.dropFirst(2)
    var value = ""
    while let character = rest.popFirst() {
      switch character {
      case "\"": return (String(name), value)
      case "\\":
        switch rest.popFirst() {
        case "\\": value += "\\"
        case "\"": value += "\""
        case "n": value += "\n"
        default: return nil
        }
      default: value.append(character)
      }
    }
    return nil
  }

  // MARK: Families

  private mutating func check(_ name: String, _ family: Family) {
    if !["counter", "gauge", "histogram"].contains(family.kind) {
      faults.append("\(name) has the type '\(family.kind)'")
    }
    if (family.kind == "counter") != name.hasSuffix("_total") {
      faults.append("\(name) is a \(family.kind)")
    }
    if !name.hasPrefix("subledger_") { faults.append("\(name) lacks the prefix subledger_") }
    if family.kind == "counter", family.samples.contains(where: { $0.value < 0 }) {
      faults.append("\(name) is negative")
    }
    if family.kind == "histogram" { checkHistogram(name, family) }
  }

  private mutating func checkHistogram(_ name: String, _ family: Family) {
    let buckets = family.samples.filter { $0.name == name + "_bucket" }
    let bounds = buckets.compactMap { $0.labels["le"].flatMap(Double.init) }
    let counts = buckets.map(\.value)
    let count = family.samples.first { $0.name == name + "_count" }?.value
    let isSound =
      bounds == bounds.sorted() && Set(bounds).count == buckets.count
      && bounds.last == .infinity && counts == counts.sorted() && counts.last == count
      && family.samples.contains { $0.name == name + "_sum" }
    if !isSound { faults.append("\(name) is not a valid histogram") }
  }
}
