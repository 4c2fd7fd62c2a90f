import Foundation
package import JournalStore
import LedgerEngine
import Platform
package import StrictJSON
import Testing

/// What the trials of rebuilds have in common.
extension Installation {
  package var dataFolder: DataFolder { DataFolder(path: data.path) }

  /// Journals a renewal each of so many customers, `70000…`, each with two notifications.
  package static func renewing(_ customers: Int, product: String = "pro.monthly") throws
    -> Installation
  {
    let installation = try Installation()
    let lines = try (0..<customers * 2).map { number in
      try installation.sign(
        Sample.notification(number, otid: "\(70_000 + number % customers)")
          .setting("data.transaction.productId", .string(product))
          .setting("data.renewalInfo.productId", .string(product)))
    }
    let ingested = try installation.run("ingest", try installation.file("all", lines))
    guard ingested.code == 0 else { throw Trouble("ingest: \(ingested)") }
    return installation
  }

  /// As `rebuild --list --json` shows them: the live one first.
  package func projections() throws -> [JSONElement] {
    let listed = try run("rebuild", "--list", "--json")
    guard listed.code == 0 else { throw Trouble("list: \(listed)") }
    return try listed.lines()
  }

  package func roles() throws -> [String] { try projections().compactMap { $0["role"]?.string } }

  /// The live rows' digest, as `rebuild --list` shows it.
  package func digest() throws -> String? { try projections().first?["digest"]?.string }

  /// Writes into the live rows at rest as no program does.
  package func tamper(_ change: (Projection) throws -> Void) throws {
    let name = try #require(try ProjectionList.read(dataFolder).live)
    let projection = try Projection.open(dataFolder.projection(named: name))
    try change(projection)
    try projection.close()
  }

  /// Gives one customer the row of another.
  package func swapRow(of id: String, for otherId: String) throws {
    let rows = try ProjectionReader.open(dataFolder)
    var row = try #require(try rows.rows(withOriginalTransactionId: id).first)
    let other = try #require(try rows.rows(withOriginalTransactionId: otherId).first)
    (row.state, row.lastSeq) = (other.state, other.lastSeq)
    try tamper { try $0.replace(row) }
  }

  /// Runs SQL in the live rows' file.
  package func executeInRows(_ sql: String) throws {
    let name = try #require(try ProjectionList.read(dataFolder).live)
    let connection = try SQLiteConnection.open(dataFolder.projection(named: name), .write)
    try connection.execute(sql)
    try connection.checkpointTruncate()
    connection.close()
  }
}

/// Holds the right to build rows, as another rebuild does, until it goes.
package final class FolderLockHolder {
  private let lock: FolderLock

  package init(_ folder: DataFolder) throws { lock = try folder.lockRebuild() }
}
