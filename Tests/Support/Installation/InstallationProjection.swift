import Foundation
import Ledger
import Platform
package import Store
import StrictJSON
import Testing

/// What tests of projections and rebuilds share.
extension Installation {
  package var dataFolder: DataFolder { DataFolder(path: data.path) }

  /// An installation with two notifications of each of this many customers, from `70000` on.
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
    guard ingested.code == 0 else { throw TestFailure("ingest: \(ingested)") }
    return installation
  }

  /// What a projection of the folder is for: those of the list, then one that is built.
  package func roles() throws -> [String] {
    let named = try ProjectionList.read(dataFolder).names.indices.map { $0 == 0 ? "live" : "kept" }
    let path = Rebuild.buildingPath(dataFolder)
    return switch try ProjectionChoice.condition(path, try JournalReader.open(dataFolder)) {
    case .usable: named + ["built"]
    case .unfinished: named + ["building"]
    default: named
    }
  }

  /// The digest of the live projection, or of another one; nil if there is none.
  package func digest(of path: String? = nil) throws -> String? {
    let live = try ProjectionList.read(dataFolder).live.map(dataFolder.projection(named:))
    guard let path = path ?? live else { return nil }
    let reader = try ProjectionReader.open(dataFolder, path: path)
    return Hexadecimal.encode(try reader.digest()?.bytes ?? [])
  }

  /// Changes the live projection while no daemon runs.
  package func tamper(_ change: (Projection) throws -> Void) throws {
    let name = try #require(try ProjectionList.read(dataFolder).live)
    let projection = try Projection.open(dataFolder.projection(named: name))
    try change(projection)
    try projection.close()
  }

  /// Gives one customer the row of another.
  package func swapRow(of id: String, for otherId: String) throws {
    let reader = try ProjectionReader.open(dataFolder)
    let key = try #require(try reader.rows(withOriginalTransactionId: id).first).key
    let otherKey = try #require(try reader.rows(withOriginalTransactionId: otherId).first).key
    try tamper { projection in
      let other = try #require(try projection.stream(otherKey))
      let reference = try #require(try projection.stream(key)).reference
      try projection.replace(
        projection.packer.pack(FoldedStream(key, other.state)), over: reference)
    }
  }

  /// Runs SQL on the live projection's file.
  package func executeInProjection(_ sql: String) throws {
    let name = try #require(try ProjectionList.read(dataFolder).live)
    let connection = try SQLiteConnection.open(dataFolder.projection(named: name), .write)
    try connection.execute(sql)
    try connection.checkpointTruncate()
    connection.close()
  }
}

/// Holds the lock of rebuilds, as another rebuild does, as long as the value exists.
package final class FolderLockHolder {
  private let lock: FolderLock

  package init(_ folder: DataFolder) throws { lock = try folder.lockRebuild() }
}

extension ProjectionReader {
  /// Opens the live projection, as the list of projections names it.
  package static func open(_ folder: DataFolder) throws -> ProjectionReader {
    let name = try #require(try ProjectionList.read(folder).live)
    return try open(folder, path: folder.projection(named: name))
  }
}
