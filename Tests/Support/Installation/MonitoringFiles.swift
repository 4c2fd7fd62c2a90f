package import Foundation

/// The alert rules and the dashboard, as the package installs them.
package enum MonitoringFiles {
  /// The folder of `Package.swift`.
  package static let repository = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let folder = repository.appending(path: "Sources/subledger/subledger.docc")
  package static let rules = folder.appending(path: "monitoring/alerts.yml")
  package static let dashboard = folder.appending(path: "monitoring/dashboard.json")

  package static func text(_ file: URL) throws -> String {
    try String(contentsOf: file, encoding: .utf8)
  }

  /// The metrics that both files name.
  package static func metrics() throws -> Set<String> {
    let text = try text(rules) + text(dashboard)
    return Set(text.matches(of: /\bsubledger_[a-z_]+/).map { String($0.output) })
  }

  /// Those of these names that a page of `/metrics` does not have. A histogram is named by its
  /// parts.
  package static func missing(_ names: Set<String>, in page: MetricsText) -> [String] {
    names.filter { name in
      let family = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }
        .map { String(name.dropLast($0.count)) }
      return page.families[name] == nil && family.flatMap { page.families[$0] } == nil
    }.sorted()
  }
}
