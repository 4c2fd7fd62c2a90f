/// The life of the live projection of a running ledger.
///
///     absent ──buildBegan──► building ──wentLive──► following ◄──caughtUp── catchingUp
///        ▲                      ▲                     │    │                    ▲
///        └──setAside── damaged ◄┴─────damageFound─────┤    └─writeFailed─► unwritable
///                                                     └────(and from catchingUp)
///
/// `otherFold` stands beside `building`: another fold's rows can be read meanwhile. What a read, a
/// list and the routes of the daemon do in each state is in operating/rules.md, "Rows".
public enum ProjectionState: String, CaseIterable, Sendable {
  /// Nothing can be read, and nothing is being built: at the start, and while the disk is full.
  case absent
  /// This fold's projection is being built; nothing can be read.
  case building
  /// This fold's projection is being built; another fold's is read for lists.
  case otherFold = "other_fold"
  /// This fold's projection lacks events. It is read, and corrected by the streams that have later
  /// events.
  case catchingUp = "catching_up"
  /// Every event is folded into the projection before it is answered.
  case following
  /// It was found damaged and is no longer read; it is put aside.
  case damaged
  /// It cannot be written, mostly because the disk is full. It is read as in `catchingUp`.
  case unwritable
}

/// What changes the state of the live projection.
public enum ProjectionEvent: String, CaseIterable, Sendable {
  /// A whole projection of this fold was found.
  case ownFound
  /// A whole projection of another fold was found, and none of this one.
  case otherFound
  case buildBegan
  case buildFailed
  /// A built projection has every event and is live.
  case wentLive
  case caughtUp
  case damageFound
  /// The damaged file was put aside.
  case setAside
  case writeFailed
}

extension ProjectionState {
  /// The state after an event; nil if the event says nothing in this state and is ignored.
  public func next(_ event: ProjectionEvent) -> ProjectionState? {
    switch (self, event) {
    case (.absent, .ownFound): .catchingUp
    case (.absent, .otherFound): .otherFold
    case (.absent, .buildBegan): .building
    case (.building, .buildFailed): .absent
    case (.otherFold, .damageFound): .damaged
    case (.catchingUp, .caughtUp), (.unwritable, .caughtUp): .following
    case (.catchingUp, .writeFailed), (.following, .writeFailed): .unwritable
    case (.catchingUp, .damageFound), (.following, .damageFound), (.unwritable, .damageFound):
      .damaged
    case (.damaged, .setAside): .absent
    case (_, .wentLive): .following
    case (.absent, _), (.building, _), (.otherFold, _), (.catchingUp, _), (.following, _),
      (.damaged, _), (.unwritable, _):
      nil
    }
  }

  /// Whether rows can be read from a file.
  public var isReadable: Bool {
    switch self {
    case .otherFold, .catchingUp, .following, .unwritable: true
    case .absent, .building, .damaged: false
    }
  }
}
