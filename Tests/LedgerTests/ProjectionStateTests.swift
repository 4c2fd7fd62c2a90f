import Ledger
import Testing

/// The table of a projection's states.
@Suite struct ProjectionStateTests {
  /// Each state with its events that are not ignored. An event that is added to the type and to no
  /// line here is ignored everywhere, which the last expectation finds.
  private static let transitions: [ProjectionState: [ProjectionEvent: ProjectionState]] = [
    .absent: [
      .ownFound: .catchingUp, .otherFound: .otherFold, .buildBegan: .building,
      .wentLive: .following,
    ],
    .building: [.buildFailed: .absent, .wentLive: .following],
    .otherFold: [.damageFound: .damaged, .wentLive: .following],
    .catchingUp: [
      .caughtUp: .following, .writeFailed: .unwritable, .damageFound: .damaged,
      .wentLive: .following,
    ],
    .following: [.writeFailed: .unwritable, .damageFound: .damaged, .wentLive: .following],
    .damaged: [.setAside: .absent, .wentLive: .following],
    .unwritable: [.caughtUp: .following, .damageFound: .damaged, .wentLive: .following],
  ]

  @Test func `every event in every state leads where the table says`() {
    for state in ProjectionState.allCases {
      for event in ProjectionEvent.allCases {
        #expect(state.next(event) == Self.transitions[state]?[event], "\(state), \(event)")
      }
    }
    let used = Set(Self.transitions.values.flatMap(\.keys))
    #expect(used == Set(ProjectionEvent.allCases))
  }

  @Test func `every state leads back to following`() {
    for state in ProjectionState.allCases where state != .following {
      var reached: Set<ProjectionState> = [state]
      for _ in ProjectionState.allCases {
        reached.formUnion(
          reached.flatMap { state in ProjectionEvent.allCases.compactMap { state.next($0) } })
      }
      #expect(reached.contains(.following), "\(state)")
    }
  }

  /// While a file was not put aside, nothing else may be built or found in its place.
  @Test func `damage ends the reading of a file in every state that reads one`() {
    for state in ProjectionState.allCases {
      #expect((state.next(.damageFound) == .damaged) == state.isReadable, "\(state)")
    }
    #expect(!ProjectionState.damaged.isReadable)
  }
}
