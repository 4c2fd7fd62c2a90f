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
            .object(
              [
                ("environment", .string(app.environment.rawValue)),
                ("bundle_id", .string(app.bundleId)),
              ] + counts.members)
          })
      ), ("samples", .array(samples.map(\.json))),
    ])
  }

  private static func fold(_ version: Int, _ fingerprint: String) -> JSONValue {
    .object([("version", .integer(Int64(version))), ("fingerprint", .string(fingerprint))])
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
  ) throws(LedgerError) -> JSONValue? {
    guard try DurableFile.size(folder.comparison) != nil else { return nil }
    let bytes = try DurableFile.read(folder.comparison, limit: maximumBytes)
    guard let root = try? JSONDocument(parsing: bytes).root else { return nil }
    func isShown(_ item: JSONElement) -> Bool {
      token.covers(
        environment: item["environment"]?.string.map(Environment.init(rawValue:)),
        bundleId: item["bundle_id"]?.string)
    }
    let apps = (root["apps"]?.elements ?? []).filter(isShown)
    var members: [(String, JSONValue)] = [("object", .string("comparison"))]
    for name in ["at", "made_at", "through_seq", "live_fold", "built_fold"] {
      // The seq counts the events of all apps.
      let isShown = name != "through_seq" || token.coversEverything
      members.append((name, isShown ? root[name]?.value ?? .null : .null))
    }
    for name in ProjectionDiff.Summary.countNames {
      members.append((name, .integer(apps.reduce(0) { $0 &+ ($1[name]?.integer ?? 0) })))
    }
    members.append(("lost", merged(apps, "lost")))
    members.append(("gained", merged(apps, "gained")))
    let samples = (root["samples"]?.elements ?? []).filter(isShown)
    members.append(("samples", .array(samples.map(\.value))))
    return .object(members)
  }

  /// The groups of several apps; those of one reason and product are added up.
  private static func merged(_ apps: [JSONElement], _ name: String) -> JSONValue {
    var counts: [ProjectionDiff.Summary.Group: Int] = [:]
    for item in apps.flatMap({ $0[name]?.elements ?? [] }) {
      let group = ProjectionDiff.Summary.Group(
        reason: item["reason"]?.string ?? "", productId: item["product_id"]?.string)
      counts[group, default: 0] &+= Int(item["customers"]?.integer ?? 0)
    }
    return ProjectionDiff.Summary.json(counts)
  }
}
