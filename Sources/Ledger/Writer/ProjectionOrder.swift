public import StrictJSON

/// What a command asks of the projections of a folder, beside building one. The daemon's writer
/// does it where a daemon runs, else `Rebuild.perform` in the process of the command.
public enum ProjectionOrder: Sendable, Equatable {
  /// Makes the built projection live, if it is of the fold with this fingerprint.
  case adopt(fold: String)
  /// Folds the streams of one original transaction id again.
  case refold(only: String)

  /// What became of it. Unless it is done, the live projection is still live.
  public enum Outcome: Sendable, Equatable {
    case done
    /// The number of streams, and of rows that changed.
    case refolded(streams: Int, changed: Int)
    /// No projection is built, it is just being built, or it lacks too many events.
    case nothing
    /// The live projection cannot be changed now: it is in this state.
    case notFollowing(ProjectionState)
    /// `adopt` names the fold of another program.
    case otherProgram
    /// Held evidence is still to be judged by this fold.
    case notJudged
    /// The log says why.
    case failed
  }
}

// MARK: On its way to a daemon

extension ProjectionOrder {
  public var json: JSONValue {
    switch self {
    case .adopt(let fold): .object([("order", .string("adopt")), ("fold", .string(fold))])
    case .refold(let id): .object([("order", .string("refold")), ("only", .string(id))])
    }
  }

  /// Reads what `json` writes. Returns nil for anything else.
  public init?(_ root: JSONElement) {
    switch (root["order"]?.string, root["fold"]?.string, root["only"]?.string) {
    case ("adopt", let fold?, nil): self = .adopt(fold: fold)
    case ("refold", nil, let id?): self = .refold(only: id)
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
    default: self = .failed
    }
  }
}
