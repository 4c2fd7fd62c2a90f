public import Platform

/// The projections of a folder: the one that was made live last, and the one before it.
///
/// The list is one small file that is replaced by an atomic rename. The live projection of a
/// program is the first one in it that its own fold made; one of another fold is retained for the
/// program that made it. Without the file one is built from the journal (promise 7). Written
/// only under the folder's lock. The link `entitlements.sqlite` leads to the first one.
public struct ProjectionList: Sendable, Equatable {
  /// File names in the folder.
  public private(set) var names: [String]

  public init(names: [String] = []) { self.names = names }

  /// The largest part of the file that is read.
  private static let maximumBytes = 4096

  /// Reads the list. Ignores lines that are not the name of a projection, and repeated names.
  /// Without a file the list is empty.
  ///
  /// - Throws: what the file system reports.
  public static func read(_ folder: DataFolder) throws(LedgerError) -> ProjectionList {
    guard try DurableFile.size(folder.projectionList) != nil else { return ProjectionList() }
    let bytes = try DurableFile.read(folder.projectionList, limit: maximumBytes)
    let lines = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
    var names: [String] = []
    for line in lines where isName(line) && !names.contains(line) { names.append(line) }
    return ProjectionList(names: names)
  }

  /// Replaces the folder's list, and makes the folder's link lead to the first projection.
  ///
  /// - Throws: what the file system reports.
  public func write(_ folder: DataFolder) throws(LedgerError) {
    let text = names.map { $0 + "\n" }.joined()
    try DurableFile.write(Array(text.utf8), to: folder.projectionList)
    if let live { try SymbolicLink.replace(folder.liveProjection, target: live) }
  }

  /// Removes all projections of a folder that no process uses: they are built again.
  ///
  /// - Throws: what the file system reports.
  public static func discard(_ folder: DataFolder) throws(LedgerError) {
    let names = try FolderListing.names(folder.path)
    for name in names where name.hasPrefix("entitlements-") {
      try DurableFile.remove(folder.projection(named: name))
    }
    try ProjectionList().write(folder)
  }

  /// The name of the projection that was made live last.
  public var live: String? { names.first }

  /// A list of `name`, which is live, and the one that was live before.
  func with(live name: String) -> ProjectionList {
    ProjectionList(names: [name] + names.filter { $0 != name }.prefix(1))
  }

  /// A list without `name`.
  func without(_ name: String) -> ProjectionList {
    ProjectionList(names: names.filter { $0 != name })
  }

  /// A name that is not in the list: `entitlements-<fold version>.sqlite`, or
  /// `entitlements-<fold version>.<2, 3, …>.sqlite` if projections of that version are retained.
  ///
  /// - Parameter isTaken: whether a name cannot be used for another reason.
  /// - Throws: what `isTaken` throws.
  func freshName(
    foldVersion: Int, isTaken: (String) throws(LedgerError) -> Bool = { _ in false }
  ) throws(LedgerError) -> String {
    var name = "entitlements-\(foldVersion).sqlite"
    var number = 2
    while true {
      if !names.contains(name) {
        guard try isTaken(name) else { return name }
      }
      name = "entitlements-\(foldVersion).\(number).sqlite"
      number += 1
    }
  }

  private static func isName(_ text: String) -> Bool {
    text.hasPrefix("entitlements-") && text.hasSuffix(".sqlite")
      && text.dropFirst(13).dropLast(7).allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
  }
}
