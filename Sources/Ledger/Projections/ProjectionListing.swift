public import Platform
public import Store
public import StrictJSON

extension Rebuild {
  /// A projection of a folder, as `rebuild --list` shows it.
  public struct ListedProjection: Sendable {
    public enum Role: String, Sendable {
      case live
      /// It was live before, and stays for the program of its fold.
      case retained = "kept"
      case building, built
    }

    public let role: Role
    public let name: String
    public let foldVersion: Int
    public let fingerprint: String
    public let rows: Int64
    public let foldedThrough: Int64
    /// The digest of all rows, in lower-case hexadecimal.
    public let digest: String

    public var json: JSONValue {
      .object([
        ("object", .string("projection")), ("role", .string(role.rawValue)),
        ("name", .string(name)), ("fold", .integer(Int64(foldVersion))),
        ("fingerprint", .string(fingerprint)), ("rows", .integer(rows)),
        ("folded_through", .integer(foldedThrough)), ("digest", .string(digest)),
      ])
    }
  }

  /// Lists the projections of a folder: the live one, the retained ones, the latest first,
  /// and the one that is built. Leaves out those that cannot be read.
  ///
  /// - Throws: what reading the list of projections throws.
  public static func projections(_ folder: DataFolder) throws(LedgerError) -> [ListedProjection] {
    let names = try ProjectionList.read(folder).names
    var all = names.enumerated().compactMap { index, name in
      try? projection(
        folder, folder.projection(named: name), name, index == 0 ? .live : .retained)
    }
    let path = buildingPath(folder)
    let name = path.split(separator: "/").last.map(String.init) ?? path
    if let built = try? projection(folder, path, name, nil) { all.append(built) }
    return all
  }

  private static func projection(
    _ folder: DataFolder, _ path: String, _ name: String, _ role: ListedProjection.Role?
  ) throws(LedgerError) -> ListedProjection {
    let reader = try ProjectionReader.open(folder, path: path)
    // Rows, seq and digest are of one state of the file.
    try reader.beginSnapshot()
    defer { reader.endSnapshot() }
    let identity = try reader.identity()
    let isComplete = try reader.isWhole()
    return ListedProjection(
      role: role ?? (isComplete ? .built : .building), name: name,
      foldVersion: identity.foldVersion, fingerprint: identity.fingerprint,
      rows: try reader.count(), foldedThrough: try reader.foldedThrough(),
      digest: Hexadecimal.encode(try reader.digest()?.bytes ?? []))
  }
}
