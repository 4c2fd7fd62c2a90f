import Foundation
import StrictJSON
import Support
import Testing

/// The dashboard, against Grafana's documented model of a dashboard
/// (grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model).
@Suite struct DashboardTests {
  private static func dashboard() throws -> JSONElement {
    let bytes = Array(try MonitoringFiles.text(MonitoringFiles.dashboard).utf8)
    return try JSONDocument(parsing: bytes).root
  }

  /// The members that the model requires or describes, with their kinds.
  private static let members: [(String, JSONElement.Kind)] = [
    ("title", .string), ("uid", .string), ("tags", .array), ("timezone", .string),
    ("editable", .boolean), ("graphTooltip", .number), ("time", .object), ("refresh", .string),
    ("templating", .object), ("annotations", .object), ("links", .array), ("panels", .array),
    ("schemaVersion", .number), ("version", .number),
  ]

  @Test func `the members of the model are there, and the id is Grafana's to give`() throws {
    let dashboard = try Self.dashboard()
    for (name, kind) in Self.members { #expect(dashboard[name]?.kind == kind, "\(name)") }
    #expect(dashboard["id"]?.kind == .null)
    #expect((8...40).contains(dashboard["uid"]?.string?.count ?? 0))
    // With 39 a data source is an object, and a time series panel needs no migration.
    #expect(dashboard["schemaVersion"]?.integer == 39)
    #expect((0...2).contains(dashboard["graphTooltip"]?.integer ?? -1))
    for name in ["from", "to"] {
      #expect(dashboard["time"]?[name]?.string?.hasPrefix("now") == true)
    }
    #expect(dashboard["annotations"]?["list"]?.kind == .array)
  }

  @Test func `the data source is a variable, and every panel takes it`() throws {
    let dashboard = try Self.dashboard()
    let variables = try #require(dashboard["templating"]?["list"]?.elements)
    #expect(variables.map { $0["name"]?.string } == ["datasource"])
    #expect(variables.first?["type"]?.string == "datasource")
    #expect(variables.first?["query"]?.string == "prometheus")
    for panel in dashboard["panels"]?.elements ?? [] {
      #expect(panel["datasource"]?["type"]?.string == "prometheus")
      #expect(panel["datasource"]?["uid"]?.string == "${datasource}")
    }
  }

  @Test func `every panel has an id, a known type, and queries with letters`() throws {
    let panels = try #require(try Self.dashboard()["panels"]?.elements)
    let ids = panels.compactMap { $0["id"]?.integer }
    #expect(panels.count >= 10 && Set(ids).count == panels.count && ids.allSatisfy { $0 > 0 })
    for panel in panels {
      let title = panel["title"]?.string ?? ""
      #expect(!title.isEmpty && panel["description"]?.string?.isEmpty == false)
      #expect(["stat", "timeseries"].contains(panel["type"]?.string), "\(title)")
      #expect(panel["options"]?.kind == .object, "\(title)")
      #expect(panel["fieldConfig"]?["defaults"]?.kind == .object, "\(title)")
      #expect(panel["fieldConfig"]?["overrides"]?.kind == .array, "\(title)")
      let targets = panel["targets"]?.elements ?? []
      let letters = targets.compactMap { $0["refId"]?.string }
      #expect(
        letters == Array(["A", "B", "C"].prefix(targets.count)) && !letters.isEmpty, "\(title)")
      #expect(targets.allSatisfy { $0["expr"]?.string?.isEmpty == false }, "\(title)")
      let steps = panel["fieldConfig"]?["defaults"]?["thresholds"]?["steps"]?.elements ?? []
      // The first step is the base, and has no value.
      #expect(steps.isEmpty || steps[0]["value"]?.kind == .null, "\(title)")
    }
  }

  @Test func `panels are within 24 columns and do not overlap`() throws {
    var taken: Set<[Int64]> = []
    for panel in try Self.dashboard()["panels"]?.elements ?? [] {
      let grid = try #require(panel["gridPos"])
      let numbers = ["x", "y", "w", "h"].compactMap { grid[$0]?.integer }
      guard numbers.count == 4 else { throw TestFailure("a place without four numbers") }
      let (x, y, w, h) = (numbers[0], numbers[1], numbers[2], numbers[3])
      #expect(x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= 24)
      for column in x..<x + w {
        for row in y..<y + h { #expect(taken.insert([column, row]).inserted, "\(numbers)") }
      }
    }
  }

  @Test(.enabled(if: RuleScenario.hasPromtool))
  func `promtool accepts every query`() throws {
    let panels = try #require(try Self.dashboard()["panels"]?.elements)
    let queries = panels.flatMap { $0["targets"]?.elements ?? [] }.compactMap { $0["expr"]?.string }
    let rules = queries.enumerated().map { index, query in
      "  - record: query:\(index)\n    expr: |\n      \(query)"
    }
    let text = "groups:\n- name: queries\n  rules:\n\(rules.joined(separator: "\n"))\n"
    let file = FileManager.default.temporaryDirectory.appending(path: "queries-\(UUID()).yml")
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(text.utf8).write(to: file)
    let checked = try RuleScenario.promtool(
      ["check", "rules", file.path], in: FileManager.default.temporaryDirectory)
    #expect(checked.code == 0, "\(checked)")
  }
}
