import AppStore
import Entitlements
import Foundation
import Ledger
import Store
import StrictJSON
import Support
import Testing

/// A release with another fold: its rows are compared with the live ones, applied, and those of the
/// release before are made live again. Each program answers by its own fold, whichever rows were
/// made live last. `make trial` builds the second program.
@Suite(
  .serialized,
  .enabled(
    if: ChangedProgram.path != nil,
    "SUBLEDGER_CHANGED_FOLD names no build with a changed fold; `make trial` makes one"))
struct ReleaseTests {
  typealias Forecast = ChangedFold.Forecast

  /// The comparison names exactly the customers of the forecast; once applied, exactly these rows
  /// change; once the former program ran again, every row is as before.
  @Test func `the comparison names exactly the customers that the rule changes`() throws {
    let fleet = try ReleaseFleet(ChangedProgram.customers)
    let forecast = try ChangedFold.forecast(fleet.folder, at: fleet.end)
    print(
      "\(forecast.rows) customers, \(fleet.events) events; forecast: \(forecast.changed.count)"
        + " changed, \(forecast.lost.count) lose access, \(forecast.gained.count) gain it")
    #expect(forecast.rows >= ChangedProgram.customers)
    #expect(forecast.lost.count * 1000 > forecast.rows && forecast.gained.count > 10)
    #expect(forecast.gained.values.contains { $0.reason == "revoked → revoked" })
    let before = try ChangedProgram.rows(fleet.folder, at: fleet.end)
    #expect(before.count == forecast.rows)
    #expect(try ProjectionList.read(fleet.folder).names.count == 1)
    let digest = try #require(try fleet.installation.digest())
    let states = try states(fleet.folder)

    let named = try compare(fleet, forecast, before)
    try expectAnswers(fleet, forecast, before)

    let applied = try fleet.run("rebuild", "--apply", "--json")
    #expect(applied.code == 0, "\(applied)")
    #expect(try applied.lines().last?["digest"]?.string != digest)
    try expectNewAnswers(fleet, forecast, before, named)

    try expectAnswers(fleet, forecast, before)
    try returnToOld(fleet, before, states, digest)
    try expectAnswers(fleet, forecast, before)
    let equal = try fleet.run("rebuild", "--diff", "--json", isChanged: false)
    #expect(equal.code == 0, "\(equal)")
    #expect(try equal.lines().last?["equal"]?.integer == Int64(forecast.rows))
  }

  /// Going back is starting the former program: its rows are live again. So it is with the new one.
  private func returnToOld(
    _ fleet: ReleaseFleet, _ before: [String: JSONValue], _ states: [String: [UInt8]],
    _ digest: String
  ) throws {
    let applied = try ProjectionList.read(fleet.folder).names
    #expect(applied.count == 2)
    try start(fleet, isChanged: false, digest)
    try expectRows(fleet, before, states, digest)
    #expect(try ProjectionList.read(fleet.folder).names == applied.reversed())
    let new = try fleet.installation.digest(of: fleet.folder.projection(named: applied[0]))
    try start(fleet, isChanged: true, try #require(new))
    #expect(try ProjectionList.read(fleet.folder).names == applied)
    try start(fleet, isChanged: false, digest)
    try expectRows(fleet, before, states, digest)
  }

  /// Starts and stops one of the two programs, whose rows are live at once.
  private func start(_ fleet: ReleaseFleet, isChanged: Bool, _ digest: String) throws {
    let daemon = try fleet.start(isChanged: isChanged)
    #expect(daemon.client().get("/version")?.json?["digest"]?.string == digest)
    #expect(try daemon.stop().code == 0)
  }

  // MARK: Before it is applied

  /// Checks both output files, the summary and the exit codes; returns the differences by id.
  private func compare(
    _ fleet: ReleaseFleet, _ forecast: Forecast, _ before: [String: JSONValue]
  ) throws -> [String: JSONElement] {
    let csv = fleet.installation.folder.appending(path: "changes.csv")
    let json = fleet.installation.folder.appending(path: "changes.json")
    let first = try fleet.run(
      "rebuild", "--diff", "--at", "\(fleet.end)", "--json", "--output", csv.path)
    #expect(first.code == 1, "\(first)")
    let summary = try #require(try first.lines().last)
    #expect(summary["changed"]?.integer == Int64(forecast.changed.count))
    #expect(summary["equal"]?.integer == Int64(forecast.rows - forecast.changed.count))
    #expect(summary["added"]?.integer == 0 && summary["gone"]?.integer == 0)
    #expect(summary["lose_access"]?.integer == Int64(forecast.lost.count))
    #expect(summary["gain_access"]?.integer == Int64(forecast.gained.count))
    try expectGroups(summary["lost"], forecast.lost)
    try expectGroups(summary["gained"], forecast.gained)

    let table = try CSVText(String(contentsOf: csv, encoding: .utf8)).rows
    #expect(table.count == forecast.changed.count)
    #expect(Set(table.compactMap { $0["original_transaction_id"] }) == forecast.changed)
    #expect(named(table, "lost") == forecast.lost)
    #expect(named(table, "gained") == forecast.gained)
    #expect(
      named(table, "same").count
        == forecast.changed.count - forecast.lost.count - forecast.gained.count)

    let second = try fleet.run(
      "rebuild", "--diff", "--at", "\(fleet.end)", "--output", json.path, "--fail-on",
      "gained-access")
    #expect(second.code == 1, "\(second)")
    #expect(second.output.contains("\(forecast.lost.count) lose access"))
    // Years later nobody loses access, but what was revoked still gives it.
    let later = ["--diff", "--at", "2099-01-01T00:00:00Z"]
    #expect(try fleet.run("rebuild", later[0], later[1], later[2]).code == 1)
    for (what, code) in [("lost-access", 0), ("gained-access", 1)] {
      let far = try fleet.run("rebuild", later[0], later[1], later[2], "--fail-on", what)
      #expect(far.code == code, "\(far)")
    }
    let items = try JSONDocument(parsing: Array(Data(contentsOf: json))).root["items"]?.elements
    let differences = try #require(items).map { ($0["original_transaction_id"]?.string ?? "", $0) }
    #expect(differences.count == forecast.changed.count)
    for (id, difference) in differences {
      let (stated, row) = (try comparable(difference["before"]?.value), try comparable(before[id]))
      #expect(stated == row, "\(id)")
    }
    return Dictionary(differences) { $1 }
  }

  private func expectGroups(
    _ groups: JSONElement?, _ expected: [String: Forecast.Change],
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    var counts: [Forecast.Change: Int64] = [:]
    for change in expected.values { counts[change, default: 0] += 1 }
    var found: [Forecast.Change: Int64] = [:]
    for group in try #require(groups?.elements) {
      let change = Forecast.Change(
        reason: group["reason"]?.string ?? "", productId: group["product_id"]?.string ?? "")
      found[change] = group["customers"]?.integer
    }
    #expect(found == counts, sourceLocation: location)
  }

  private func named(
    _ table: [[String: String]], _ access: String
  ) -> [String: Forecast.Change] {
    var named: [String: Forecast.Change] = [:]
    for row in table where row["access"] == access {
      named[row["original_transaction_id"] ?? ""] = Forecast.Change(
        reason: "\(row["status_before"] ?? "") → \(row["status_after"] ?? "")",
        productId: row["product_after"] ?? "")
    }
    return named
  }

  /// Whichever rows were made live last, each build answers by its own fold; checks a few customers
  /// of each kind.
  private func expectAnswers(
    _ fleet: ReleaseFleet, _ forecast: Forecast, _ before: [String: JSONValue]
  ) throws {
    for id in sample(forecast, before) {
      let old = try #require(try fleet.row(id, isChanged: false))
      let new = try #require(try fleet.row(id))
      if forecast.lost[id] != nil { #expect(Self.givesAccess(old) && !Self.givesAccess(new)) }
      if forecast.gained[id] != nil { #expect(!Self.givesAccess(old) && Self.givesAccess(new)) }
      #expect(new.text == (forecast.changed.contains(id) ? try changed(old) : old).text, "\(id)")
    }
  }

  /// A row of the old fold by the changed fold.
  private func changed(_ row: JSONValue) throws -> JSONValue {
    let text = String(try #require(row["status"]?.text).dropFirst().dropLast())
    let status = ChangedFold.status(try #require(Entitlement.Status(rawValue: text)))
    let isConsumable = row["product_type"]?.text == "\"Consumable\""
    return row.setting("status", .string(status.rawValue)).setting(
      "gives_access",
      .boolean(ChangedFold.givesAccess(status, isConsumable ? "Consumable" : nil)))
  }

  private func sample(_ forecast: Forecast, _ before: [String: JSONValue]) -> [String] {
    let others = before.keys.filter { !forecast.changed.contains($0) }
    return [Array(forecast.lost.keys), Array(forecast.gained.keys), others]
      .flatMap { $0.sorted().prefix(5) }
  }

  // MARK: Applied

  private func expectNewAnswers(
    _ fleet: ReleaseFleet, _ forecast: Forecast, _ before: [String: JSONValue],
    _ named: [String: JSONElement]
  ) throws {
    let after = try ChangedProgram.rows(fleet.folder, at: fleet.end)
    #expect(Set(after.keys) == Set(before.keys))
    var (lost, gained): (Set<String>, Set<String>) = ([], [])
    for (id, row) in after {
      let old = try #require(before[id])
      if let difference = named[id] {
        let (stated, now) = (try comparable(difference["after"]?.value), try comparable(row))
        #expect(stated == now, "\(id)")
      } else {
        #expect(row.text == old.text, "\(id)")
      }
      switch (Self.givesAccess(old), Self.givesAccess(row)) {
      case (true, false): lost.insert(id)
      case (false, true): gained.insert(id)
      default: break
      }
    }
    #expect(lost == Set(forecast.lost.keys))
    #expect(gained == Set(forecast.gained.keys))
    let now = try ChangedFold.spans(fleet.folder)
    for (id, spans) in forecast.spans { #expect(now[id] == spans, "\(id)") }
    for id in forecast.lost.keys.sorted().prefix(5) {
      #expect(try fleet.row(id)?["status"]?.text == "\"billing_retry\"", "\(id)")
    }
    let verified = try fleet.run("verify", "--json")
    #expect(verified.code == 0, "\(verified)")
    #expect(try verified.lines().last?["rows_compared"]?.boolean == true)
  }

  /// A row without what a comparison writes in another way: it has the members in the order of the
  /// columns, and a list as the text of its column.
  private func comparable(_ row: JSONValue?) throws -> String {
    let row = try #require(row).setting("succeeded_by", nil).setting("win_back_offers", nil)
    guard case .object(let members) = row else { throw TestFailure("no row: \(row.text)") }
    return JSONValue.object(members.sorted { $0.0 < $1.0 }).text
  }

  private static func givesAccess(_ row: JSONValue) -> Bool {
    row["gives_access"]?.text == "true"
  }

  // MARK: The old rows again

  private func states(_ folder: DataFolder) throws -> [String: [UInt8]] {
    var states: [String: [UInt8]] = [:]
    try ProjectionReader.open(folder).forEach { row in
      states[row.key.originalTransactionId] = row.state
      return true
    }
    return states
  }

  /// The rows before the release are live again, byte by byte, and right by the old program.
  private func expectRows(
    _ fleet: ReleaseFleet, _ before: [String: JSONValue], _ states: [String: [UInt8]],
    _ digest: String
  ) throws {
    #expect(try self.states(fleet.folder) == states)
    #expect(
      try ChangedProgram.rows(fleet.folder, at: fleet.end).mapValues(\.text)
        == before.mapValues(\.text))
    #expect(try fleet.installation.digest() == digest)
    let verified = try fleet.run("verify", "--json", isChanged: false)
    #expect(verified.code == 0, "\(verified)")
    let report = try #require(try verified.lines().last)
    #expect(report["digest"]?.string == digest)
    #expect(report["rows_compared"]?.boolean == true)
  }
}
