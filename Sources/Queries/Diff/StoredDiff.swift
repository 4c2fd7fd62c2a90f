import AppStore
import Entitlements
public import Ledger
public import Platform
public import Store
public import StrictJSON

/// The last comparison of a built projection with the live one, stored in the data folder for the
/// console: counts for each app, and samples of the differences.
public struct StoredDiff {
  private let value: JSONValue

  /// Bytes of the file at most: tens of samples of a few KiB, and counts of many apps and products.
  private static let maximumBytes = 4 * 1024 * 1024

  /// - Parameters:
  ///   - at: the time at which access was compared, milliseconds since 1970.
  ///   - madeAt: the current time, milliseconds since 1970.
  ///   - samples: some of the differences.
  public init(
    _ summary: ProjectionDiff.Summary, at: Int64, madeAt: Int64, samples: [RowDifference]
  ) {
    let apps = summary.byApp.sorted {
      ($0.key.bundleId, $0.key.environment) < ($1.key.bundleId, $1.key.environment)
    }
    value = .object([
      ("made_at", .integer(madeAt)), ("at", .integer(at)),
      ("through_seq", .integer(summary.through)),
      ("live_fold", Self.fold(summary.liveFold.version, summary.liveFold.fingerprint)),
      ("built_fold", Self.fold(Int(summary.builtFold.version), summary.builtFold.fingerprint)),
      (
        "apps",
        .array(
          apps.map { app, counts in
            JSONObject(
              [
                JSONMember("environment", .environment) { _ in app.environment.rawValue },
                JSONMember("bundle_id", .bundleId) { _ in app.bundleId },
              ] + ProjectionDiff.Summary.counts
            ).json(counts)
          })
      ), ("samples", .array(samples.map(\.json))),
    ])
  }

  private static func fold(_ version: Int, _ fingerprint: String) -> JSONValue {
    Comparison.fold.json((Int64(version), fingerprint))
  }

  /// Replaces the stored comparison. Nothing depends on it, so it is not synced together with
  /// anything else.
  ///
  /// - Throws: what the file system reports, as `LedgerError`.
  public func write(_ folder: DataFolder) throws(LedgerError) {
    try DurableFile.write(value.bytes, to: folder.comparison)
  }

  // MARK: Reading

  /// The stored comparison as a token may see it: the counts of its apps, added up. Nil if none is
  /// stored, or if the file cannot be parsed.
  ///
  /// - Throws: what the file system reports, as `LedgerError`.
  public static func read(
    _ folder: DataFolder, for token: Configuration.ReadToken
  ) throws(LedgerError) -> Comparison? {
    guard try DurableFile.size(folder.comparison) != nil else { return nil }
    let bytes = try DurableFile.read(folder.comparison, limit: maximumBytes)
    guard let root = try? JSONDocument(parsing: bytes).root else { return nil }
    func isShown(_ item: JSONElement) -> Bool {
      token.covers(
        environment: item["environment"]?.string.map(Environment.init(rawValue:)),
        bundleId: item["bundle_id"]?.string)
    }
    var summary = ProjectionDiff.Summary()
    for app in root["apps"]?.elements ?? [] where isShown(app) { summary.add(app) }
    return Comparison(
      root: root, summary: summary, isWhole: token.coversEverything,
      samples: (root["samples"]?.elements ?? []).filter(isShown).map(\.value))
  }
}

/// The stored comparison as a token may see it.
public struct Comparison {
  fileprivate let root: JSONElement
  fileprivate let summary: ProjectionDiff.Summary
  /// Whether the token covers all events.
  fileprivate let isWhole: Bool
  fileprivate let samples: [JSONValue]

  public static let object = JSONObject<Comparison>(
    "Comparison",
    [
      .type("comparison"),
      stored("at", .time("The time that access is compared for.")),
      stored("made_at", .time("When `rebuild --diff` ran.")),
      JSONMember(
        "through_seq",
        .optional(
          .integer("The last event on both sides; null if the token does not cover all events."))
      ) { $0.isWhole ? $0.root["through_seq"]?.value ?? .null : .null },
      stored("live_fold", fold.schema), stored("built_fold", fold.schema),
    ] + ProjectionDiff.Summary.counts.map { $0.of(\.summary) } + [
      JSONMember("samples", .list(RowDifference.object.schema)) { $0.samples }
    ])

  fileprivate static let fold = JSONObject<(version: Int64, fingerprint: String)>([
    JSONMember("version", .integer()) { $0.version },
    JSONMember("fingerprint", .text("A digest of what the fold computes from a fixed history.")) {
      $0.fingerprint
    },
  ])

  private static func stored(_ name: String, _ schema: JSONSchema) -> JSONMember<Comparison> {
    JSONMember(name, schema) { $0.root[name]?.value ?? .null }
  }
}

extension ProjectionDiff.Summary {
  /// Adds the stored counts of an app; groups of one reason and product are added up.
  fileprivate mutating func add(_ app: JSONElement) {
    for (name, count, _) in Self.rowCounts { self[keyPath: count] &+= Int(app[name]?.integer ?? 0) }
    Self.add(app["lost"], to: &lost)
    Self.add(app["gained"], to: &gained)
  }

  private static func add(_ list: JSONElement?, to groups: inout [Group: Int]) {
    for item in list?.elements ?? [] {
      let group = Group(
        reason: item["reason"]?.string ?? "", productId: item["product_id"]?.string)
      groups[group, default: 0] &+= Int(item["customers"]?.integer ?? 0)
    }
  }
}
