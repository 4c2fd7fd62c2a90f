public import Configuration
public import JournalStore
import LedgerEngine
import Platform
public import StrictJSON

/// The last comparison of built rows with live ones, kept in the data folder so that it can be
/// looked at afterwards: counts for each app, and some of the customers.
public struct StoredDiff {
  private let value: JSONValue

  /// Bytes: some tens of samples of some KiB, and counts of many apps and products.
  private static let maximumBytes = 4 * 1024 * 1024

  /// - Parameters:
  ///   - at: the moment access was told as of, ms.
  ///   - madeAt: our clock, ms.
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
      ("built_fold", Self.fold(FoldIdentity.version, FoldIdentity.fingerprint)),
      (
        "apps",
        .array(
          apps.map { app, counts in
            .object(
              [
                ("environment", .string(app.environment)), ("bundle_id", .string(app.bundleId)),
              ] + Self.counts(counts))
          })
      ), ("samples", .array(samples.map(\.json))),
    ])
  }

  private static func fold(_ version: Int, _ fingerprint: String) -> JSONValue {
    .object([("version", .integer(Int64(version))), ("fingerprint", .string(fingerprint))])
  }

  /// Replaces the one that was kept. Not synced with anything: it is only looked at.
  public func write(_ folder: DataFolder) throws(StoreError) {
    do throws(PlatformError) {
      try DurableFile.write(value.bytes, to: folder.comparison)
    } catch {
      throw StoreError(error)
    }
  }

  /// What `rebuild --diff --json` prints.
  public static func json(_ summary: ProjectionDiff.Summary, at: Int64) -> JSONValue {
    .object([("object", .string("comparison")), ("at", .integer(at))] + counts(summary))
  }

  private static func counts(_ summary: ProjectionDiff.Summary) -> [(String, JSONValue)] {
    [
      ("equal", .integer(Int64(summary.equal))),
      ("equal_but_registers", .integer(Int64(summary.equalButRegisters))),
      ("changed", .integer(Int64(summary.changed))), ("added", .integer(Int64(summary.added))),
      ("gone", .integer(Int64(summary.gone))), ("lose_access", .integer(Int64(summary.losing))),
      ("gain_access", .integer(Int64(summary.gaining))), ("lost", groups(summary.lost)),
      ("gained", groups(summary.gained)),
    ]
  }

  private static func groups(_ groups: [ProjectionDiff.Summary.Group: Int]) -> JSONValue {
    let sorted = groups.sorted {
      ($0.key.reason, $0.key.productId ?? "") < ($1.key.reason, $1.key.productId ?? "")
    }
    return .array(sorted.map { group($0.reason, $0.productId, Int64($1)) })
  }

  private static func group(_ reason: String, _ productId: String?, _ count: Int64) -> JSONValue {
    .object([
      ("reason", .string(reason)), ("product_id", .optional(productId)),
      ("customers", .integer(count)),
    ])
  }

  // MARK: Reading it

  /// What a token may see of the comparison that is kept: the counts of its apps, added up. Nil
  /// where none is kept, or none that can be read.
  public static func kept(
    _ folder: DataFolder, for token: Configuration.ReadToken
  ) throws(StoreError) -> JSONValue? {
    let bytes: [UInt8]
    do throws(PlatformError) {
      guard try DurableFile.size(folder.comparison) != nil else { return nil }
      bytes = try DurableFile.read(folder.comparison, limit: maximumBytes)
    } catch {
      throw StoreError(error)
    }
    guard let root = try? JSONDocument(parsing: bytes).root else { return nil }
    func isShown(_ item: JSONElement) -> Bool {
      token.covers(
        environment: item["environment"]?.string ?? "", bundleId: item["bundle_id"]?.string ?? "")
    }
    let apps = (root["apps"]?.elements ?? []).filter(isShown)
    var members: [(String, JSONValue)] = [("object", .string("comparison"))]
    for name in ["at", "made_at", "through_seq", "live_fold", "built_fold"] {
      members.append((name, root[name]?.value ?? .null))
    }
    for name in Self.numbers {
      members.append((name, .integer(apps.reduce(0) { $0 &+ ($1[name]?.integer ?? 0) })))
    }
    members.append(("lost", merged(apps, "lost")))
    members.append(("gained", merged(apps, "gained")))
    let samples = (root["samples"]?.elements ?? []).filter(isShown)
    members.append(("samples", .array(samples.map(\.value))))
    return .object(members)
  }

  private static let numbers = [
    "equal", "equal_but_registers", "changed", "added", "gone", "lose_access", "gain_access",
  ]

  /// The groups of several apps, those of one name added up.
  private static func merged(_ apps: [JSONElement], _ name: String) -> JSONValue {
    var counts: [ProjectionDiff.Summary.Group: Int] = [:]
    for item in apps.flatMap({ $0[name]?.elements ?? [] }) {
      let group = ProjectionDiff.Summary.Group(
        reason: item["reason"]?.string ?? "", productId: item["product_id"]?.string)
      counts[group, default: 0] &+= Int(item["customers"]?.integer ?? 0)
    }
    return groups(counts)
  }
}
