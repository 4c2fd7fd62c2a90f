public import StrictJSON

/// What a command asks of the projections of a folder, beside building one. The daemon's writer
/// does it where a daemon runs, else `Rebuild.perform` in the process of the command.
public enum ProjectionOrder: Sendable, Equatable {
  /// Makes the built projection live, if it is of the fold with this fingerprint, and retains so
  /// many of those that were live before.
  case adopt(fold: String, retaining: Int)
  /// Makes this fold's projection live again that was live before.
  case rollBack
  /// Removes all but so many retained projections.
  case prune(retaining: Int)
  /// Folds the streams of one original transaction id again.
  case refold(only: String)

  /// What became of it. Unless it is done, the live projection is still live.
  public enum Outcome: Sendable, Equatable {
    case done
    /// The number of streams, and of rows that changed.
    case refolded(streams: Int, changed: Int)
    /// There is no projection to which the order applies, it is just being built, or it lacks too
    /// many events.
    case nothing
    /// The live projection cannot be changed now: it is in this state.
    case notFollowing(ProjectionState)
    /// `adopt` names the fold of another program.
    case otherProgram
    /// Held evidence is still to be judged by this fold.
    case notJudged
    /// The one to return to is of another fold: the program of that fold makes it live by itself
    /// when it starts.
    case otherFold(name: String, version: Int, fingerprint: String)
    /// The log says why.
    case failed
  }
}

// MARK: On its way to a daemon

extension ProjectionOrder {
  public var json: JSONValue {
    switch self {
    case .adopt(let fold, let count):
      .object([
        ("order", .string("adopt")), ("fold", .string(fold)), ("retaining", .integer(Int64(count))),
      ])
    case .rollBack: .object([("order", .string("roll_back"))])
    case .prune(let count):
      .object([("order", .string("prune")), ("retaining", .integer(Int64(count)))])
    case .refold(let id): .object([("order", .string("refold")), ("only", .string(id))])
    }
  }

  /// Reads what `json` writes. Returns nil for anything else.
  public init?(_ root: JSONElement) {
    let count = root["retaining"]?.integer.flatMap { (0...100).contains($0) ? Int($0) : nil }
    switch (root["order"]?.string, root["fold"]?.string, root["only"]?.string, count) {
    case ("adopt", let fold?, nil, let count?): self = .adopt(fold: fold, retaining: count)
    case ("roll_back", nil, nil, nil): self = .rollBack
    case ("prune", nil, nil, let count?): self = .prune(retaining: count)
    case ("refold", nil, let id?, nil): self = .refold(only: id)
    default: return nil
    }
  }
}

extension ProjectionOrder.Outcome {
  public var json: JSONValue {
    switch self {
    case .done: .object([("outcome", .string("done"))])
    case .refolded(let streams, let changed):
      .object([
        ("outcome", .string("refolded")), ("streams", .integer(Int64(streams))),
        ("changed", .integer(Int64(changed))),
      ])
    case .nothing: .object([("outcome", .string("nothing"))])
    case .notFollowing(let state):
      .object([("outcome", .string("not_following")), ("state", .string(state.rawValue))])
    case .otherProgram: .object([("outcome", .string("other_program"))])
    case .notJudged: .object([("outcome", .string("not_judged"))])
    case .otherFold(let name, let version, let fingerprint):
      .object([
        ("outcome", .string("other_fold")), ("name", .string(name)),
        ("version", .integer(Int64(version))), ("fingerprint", .string(fingerprint)),
      ])
    case .failed: .object([("outcome", .string("failed"))])
    }
  }

  /// Reads what `json` writes; `failed` for anything else.
  public init(_ root: JSONElement) {
    let number = { (name: String) in Int(root[name]?.integer ?? 0) }
    switch root["outcome"]?.string {
    case "done": self = .done
    case "refolded": self = .refolded(streams: number("streams"), changed: number("changed"))
    case "nothing": self = .nothing
    case "not_following":
      self = root["state"]?.string.flatMap(ProjectionState.init).map(Self.notFollowing) ?? .failed
    case "other_program": self = .otherProgram
    case "not_judged": self = .notJudged
    case "other_fold":
      self = .otherFold(
        name: root["name"]?.string ?? "", version: number("version"),
        fingerprint: root["fingerprint"]?.string ?? "")
    default: self = .failed
    }
  }
}
