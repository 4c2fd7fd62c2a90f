import Platform

/// Which projections a folder keeps: the live one first, then those that were live before it, the
/// latest first.
///
/// One small file that one atomic rename replaces whole, so there is always one answer to which
/// rows are live, and one to what a rollback returns to. Without it nothing is live, and rows are
/// built from the journal (promise 7). Written only under the folder's lock.
public struct ProjectionList: Sendable, Equatable {
  /// Names of files in the folder.
  public private(set) var names: [String]

  /// Whether somebody went back to what is live: no start may leave it by itself.
  public private(set) var isHeld: Bool

  public init(names: [String] = [], isHeld: Bool = false) {
    self.names = names
    self.isHeld = isHeld
  }

  private static let held = "held"

  private static let maximumBytes = 4096

  /// What is not the name of a projection is passed over, and so is a name that was there before:
  /// one that is kept must never be the one that is live.
  public static func read(_ folder: DataFolder) throws(StoreError) -> ProjectionList {
    try platform { () throws(PlatformError) in
      guard try DurableFile.size(folder.projectionList) != nil else { return ProjectionList() }
      let bytes = try DurableFile.read(folder.projectionList, limit: maximumBytes)
      let lines = bytes.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
      var names: [String] = []
      for line in lines where isName(line) && !names.contains(line) { names.append(line) }
      return ProjectionList(names: names, isHeld: lines.first == held)
    }
  }

  public func write(_ folder: DataFolder) throws(StoreError) {
    let text = ((isHeld ? [Self.held] : []) + names).map { $0 + "\n" }.joined()
    try platform { () throws(PlatformError) in
      try DurableFile.write(Array(text.utf8), to: folder.projectionList)
    }
  }

  public var live: String? { names.first }

  /// The ones that are kept for a rollback.
  public var kept: ArraySlice<String> { names.dropFirst() }

  /// With one made live, and the live one kept behind it.
  public func with(live name: String, isHeld: Bool = false) -> ProjectionList {
    ProjectionList(names: [name] + names.filter { $0 != name }, isHeld: isHeld)
  }

  public func without(_ name: String) -> ProjectionList {
    ProjectionList(names: names.filter { $0 != name }, isHeld: isHeld && name != live)
  }

  /// With no more than so many kept.
  func keeping(_ count: Int) -> ProjectionList {
    ProjectionList(names: Array(names.prefix(1 + count)), isHeld: isHeld)
  }

  /// A name no kept projection has: `entitlements-<fold version>.sqlite`, where several of one
  /// version are kept `entitlements-<fold version>.<2, 3, …>.sqlite`.
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
