import AppStore
import Entitlements
import Ledger
import Platform
import Queries
import Store
import StrictJSON

/// `entitlements`: which products give which entitlements, and who would lose or gain one.
enum EntitlementsCommand {
  static let flags: [Command.Flag] = [
    .init("--diff", "FILE", "compare the mapping in force with that of this configuration"),
    .init("--accept", "FILE", "put the mapping of this configuration in force, whoever loses"),
    .init("--output", "FILE", "with --diff: write every difference, .csv or .json"),
    .init(
      "--fail-on", "KIND",
      "with --diff: exit with 1 for any (default), lost-access or "
        + "gained-access"),
    .init("--as-of", "T", "what was in force then"),
    .init("--log", "every mapping that was put in force, with what it changed"), .json,
  ]

  static func run(_ arguments: Arguments) throws(LedgerError) -> ExitCode {
    try arguments.requireNoOperand()
    let configuration = try arguments.configuration()
    switch (arguments["--diff"], arguments["--accept"]) {
    case (nil, nil) where arguments.has("--log"): return try log(configuration, arguments)
    case (nil, nil): return try show(configuration, arguments)
    case (let file?, nil): return try compare(file, configuration, arguments)
    case (nil, let file?): return try accept(file, configuration, arguments)
    default: throw .usage("--diff and --accept are two commands")
    }
  }

  private static func load(_ file: String) throws(LedgerError) -> Configuration {
    try Configuration.load(
      file: file, variables: ProcessEnvironment.variables, listen: nil, data: nil)
  }

  // MARK: What is in force

  private static func show(
    _ configuration: Configuration, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let reader = try QueryOptions.reader(configuration)
    let time = try arguments.time("--as-of")
    let changed = try reader.changedMappings(configuration)
    let inForce = try reader.mappingsInForce(at: time).sorted { $0.key < $1.key }
    for (app, said) in inForce {
      guard let mapping = said.mapping else { continue }
      // What was in force at an earlier time is compared with nothing.
      let isConfigured = time == nil ? changed[app] == nil : nil
      Terminal.print(
        .object(
          [
            ("object", .string("mapping")), ("environment", .string(app.environment.rawValue)),
            ("bundle_id", .string(app.bundleId)), ("seq", .integer(said.seq)),
            ("since", .integer(said.receivedAt)), ("token", .string(said.statement.token)),
            ("configured", .optional(isConfigured)),
          ] + mapping.members), or: text(app, said, mapping, isConfigured: isConfigured ?? true),
        arguments)
    }
    if inForce.isEmpty, !arguments.has("--json") { Terminal.print(try absence(reader)) }
    return .good
  }

  /// Why no mapping is shown.
  private static func absence(_ reader: LedgerReader) throws(LedgerError) -> String {
    if let first = try reader.mappingLog().first {
      return "none was in force then: the first one is of \(Timestamp.text(first.said.receivedAt))"
    }
    return
      "no mapping was journaled yet: the daemon does it when it starts with entitlements in its "
      + "configuration"
  }

  private static func text(
    _ app: StreamKey, _ said: StoredStatement, _ mapping: EntitlementCatalog.Mapping,
    isConfigured: Bool
  ) -> String {
    let since = "since \(Timestamp.text(said.receivedAt)) (#\(said.seq))"
    let heading =
      "\(app.environment.rawValue)  \(VisibleText.of(app.bundleId))  \(since), by "
      + "\(VisibleText.of(said.statement.token))"
      + (isConfigured ? "" : "; the configuration says otherwise, see --diff")
    return ([heading] + lines(mapping).map { "  " + $0 }).joined(separator: "\n")
  }

  /// A line for each name: what gives it; then one for each product that has a duration.
  private static func lines(_ mapping: EntitlementCatalog.Mapping) -> [String] {
    let names = mapping.names.sorted { $0.key < $1.key }.map { name, entitlement in
      let leeway = entitlement.accessLeeway
      return name.padded(to: 26) + entitlement.products.map(VisibleText.of).joined(separator: ", ")
        + (leeway == 0 ? "" : "  leeway \(DurationText.text(leeway))")
    }
    let durations = (mapping.durations ?? [:]).sorted { $0.key < $1.key }.map { product, duration in
      "\(VisibleText.of(product)) lasts \(DurationText.text(duration.milliseconds))"
        + (duration.addsUp ? ", and adds up when bought again" : "")
    }
    return names + durations
  }

  // MARK: What was in force

  private static func log(
    _ configuration: Configuration, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    guard arguments["--as-of"] == nil else {
      throw .usage("--log lists all times; leave out --as-of")
    }
    let reader = try QueryOptions.reader(configuration)
    let said = try reader.mappingLog()
    for (said, before) in said {
      guard let mapping = said.mapping else { continue }
      let replaced = before?.mapping
      let statement = said.statement
      Terminal.print(
        .object(
          [
            ("object", .string("mapping_change")), ("seq", .integer(said.seq)),
            ("at", .integer(said.receivedAt)),
            ("environment", .string(statement.environment.rawValue)),
            ("bundle_id", .string(statement.bundleId)), ("token", .string(statement.token)),
          ] + mapping.members + ProductMapping.members(before: replaced)),
        or: text(said, mapping, replaced ?? ProductMapping()), arguments)
    }
    if said.isEmpty, !arguments.has("--json") { Terminal.print(try absence(reader)) }
    return .good
  }

  /// What a mapping changed: the names that it no longer gives, or gives otherwise, and those it
  /// gives since.
  private static func text(
    _ said: StoredStatement, _ mapping: EntitlementCatalog.Mapping,
    _ before: EntitlementCatalog.Mapping
  ) -> String {
    let heading =
      "\(Timestamp.text(said.receivedAt))  #\(said.seq)  \(said.statement.environment.rawValue)  "
      + "\(VisibleText.of(said.statement.bundleId)), by \(VisibleText.of(said.statement.token))"
    let (then, now) = (lines(before), lines(mapping))
    let removed = then.filter { !now.contains($0) }.map { "  - " + $0 }
    let added = now.filter { !then.contains($0) }.map { "  + " + $0 }
    return ([heading] + removed + added).joined(separator: "\n")
  }

  // MARK: Who would lose and gain

  private static func compare(
    _ file: String, _ configuration: Configuration, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let failure = try FailOn(arguments)
    let reader = try QueryOptions.reader(configuration)
    let changed = try reader.changedMappings(try load(file))
    let output = try DifferenceFile(
      arguments, columns: MappingComparison.Difference.columns)
    let comparison = try comparison(changed, configuration, reader) {
      (difference) throws(LedgerError) in
      try output?.write(csv: difference.csv, json: difference.json)
    }
    try output?.finish()
    Terminal.print(comparison.json, or: text(comparison), arguments)
    let (losing, gaining) = (comparison.losing, comparison.gaining)
    return failure.isMet(differing: losing + gaining, losing: losing, gaining: gaining)
      ? .findings : .good
  }

  /// Shows how far it is; ^C stops it.
  private static func comparison(
    _ changed: [StreamKey: EntitlementCatalog.Mapping], _ configuration: Configuration,
    _ reader: LedgerReader,
    _ each: (MappingComparison.Difference) throws(LedgerError) -> Void = { _ in }
  ) throws(LedgerError) -> MappingComparison {
    let interruption = Interruption.started()
    let progress = ProgressReporter("compare", counting: "rows")
    var rows: Int64 = 0
    let comparison = try reader.compare(
      changed, configured: configuration.entitlements, at: Clock.now(),
      while: {
        rows += 1
        progress.show(rows, share: nil)
        return !interruption.isRequested
      }, each)
    guard let comparison else { throw .stopped("stopped before the end") }
    return comparison
  }

  private static func text(_ comparison: MappingComparison) -> String {
    func lines(_ verb: String, _ groups: [MappingComparison.Group: Int]) -> [String] {
      MappingComparison.sorted(groups).map { group, count in
        "\(verb): \(count)".padded(to: 14) + group.name.padded(to: 26)
          + VisibleText.of(group.productId ?? "granted").padded(to: 32)
          + "\(group.app.environment.rawValue)  \(VisibleText.of(group.app.bundleId))"
      }
    }
    let counts =
      "\(CountText.of(comparison.losing, "entitlements")) lost, \(comparison.gaining) gained"
    return ([counts] + lines("lose", comparison.lost) + lines("gain", comparison.gained))
      .joined(separator: "\n")
  }

  // MARK: An operator's word

  private static func accept(
    _ file: String, _ configuration: Configuration, _ arguments: Arguments
  ) throws(LedgerError) -> ExitCode {
    let accepted = try load(file)
    let reader = try QueryOptions.reader(configuration)
    let changed = try reader.changedMappings(accepted)
    var comparison: MappingComparison?
    do throws(LedgerError) {
      comparison = try self.comparison(changed, configuration, reader)
    } catch {
      // Without rows it cannot be said, and is put in force all the same.
      guard error.code != .stopped else { throw error }
    }
    let held = try reader.heldMappings(accepted, former: try reader.evaluatedDurations())
    let ledger = try LocalLedger(try arguments.journalFolder(), configuration)
    defer { ledger.stop() }
    let said = held.sorted { $0.key < $1.key }
    for (app, mapping) in said + changed.sorted(by: { $0.key < $1.key }) {
      _ = try ledger.say(
        NewStatement(
          .catalog(mapping), of: nil, environment: app.environment, bundleId: app.bundleId,
          token: "command", receivedAt: Clock.now()))
    }
    let isConfigured = configuration.entitlements == accepted.entitlements
    Terminal.print(
      .object([
        ("journaled", .integer(Int64(changed.count))), ("configured", .boolean(isConfigured)),
        ("comparison", comparison?.json ?? .null),
      ]),
      or: changed.isEmpty
        ? "this mapping is in force already"
        : (comparison.map { text($0) + "\n" } ?? "")
          + "in force for \(CountText.of(changed.count, "apps")) and environments", arguments)
    if !isConfigured {
      Terminal.error(
        "\(VisibleText.of(file)) is not the configuration of the daemon: its next start or reload "
          + "compares its own mapping with this one again; write this one there too")
    }
    return .good
  }
}
