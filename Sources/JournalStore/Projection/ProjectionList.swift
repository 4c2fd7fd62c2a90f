import Platform

/// The projections of a folder: the live one first, then the previous ones, latest first.
///
/// The list is one small file that is replaced by an atomic rename, so that it always names exactly
/// one live projection and one for a rollback. Without the file no projection is live, and one is
/// built from the journal (promise 7). Written only under the folder's lock.
public struct ProjectionList: Sendable, Equatable {
  /// File names in the folder.
  public private(set) var names: [String]

  /// Whether the live projection is the result of a rollback, so that a start must not replace it.
  public private(set) var isHeld: Bool

  public init(names: [String] = [], isHeld: Bool = false) {
    self.names = names
    self.isHeld = isHeld
  }

  private static let held = "held"

  /// The largest part of the file that is read.
  private static let maximumBytes = 4096

  /// Reads the list. Ignores lines that are not the name of a projection, and repeated names,
  /// because a retained projection must not be the live one. Without a file the list is empty.
  ///
  /// - Throws: what the file system reports.
  public static func read(_ folder: DataFolder) throws(StoreError) -> ProjectionList {
    try mapError(StoreError.init) { () throws(PlatformError) in
      guard try DurableFile.size(folder.projectionList) != nil else { return ProjectionList() }
      let bytes = try DurableFile.read(folder.projectionList, limit: maximumBytes)
      let lines = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
      var names: [String] = []
      for line in lines where isName(line) && !names.contains(line) { names.append(line) }
      return ProjectionList(names: names, isHeld: lines.first == held)
    }
  }

  /// Replaces the folder's list.
  ///
  /// - Throws: what the file system reports.
  public func write(_ folder: DataFolder) throws(StoreError) {
    let text = ((isHeld ? [Self.held] : []) + names).map { $0 + "\n" }.joined()
    try mapError(
      StoreError.init, try DurableFile.write(Array(text.utf8), to: folder.projectionList))
  }

  /// The name of the live projection.
  public var live: String? { names.first }

  /// The names of the projections that are retained for a rollback.
  public var retained: ArraySlice<String> { names.dropFirst() }

  /// A list in which `name` is live and the current live projection is retained.
  public func with(live name: String, isHeld: Bool = false) -> ProjectionList {
    ProjectionList(names: [name] + names.filter { $0 != name }, isHeld: isHeld)
  }

  /// A list without `name`.
  public func without(_ name: String) -> ProjectionList {
    ProjectionList(names: names.filter { $0 != name }, isHeld: isHeld && name != live)
  }

  /// A list with at most `count` retained projections.
  func retaining(_ count: Int) -> ProjectionList {
    ProjectionList(names: Array(names.prefix(1 + count)), isHeld: isHeld)
  }

  /// A name that is not in the list: `entitlements-<fold version>.sqlite`, or
  /// `entitlements-<fold version>.<2, 3, …>.sqlite` if projections of that version are retained.
  public func freshName(foldVersion: Int) -> String {
    let first = "entitlements-\(foldVersion).sqlite"
    var name = first
    var number = 2
    while names.contains(name) {
      name = "entitlements-\(foldVersion).\(number).sqlite"
      number += 1
    }
    return name
  }

  private static func isName(_ text: String) -> Bool {
    text.hasPrefix("entitlements-") && text.hasSuffix(".sqlite")
      && text.dropFirst(13).dropLast(7).allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
  }
}
