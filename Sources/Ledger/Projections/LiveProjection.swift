public import Platform
public import Store
import StrictJSON
import Synchronization

/// Which projection is live, and what its state is, for all threads of this process. Its lock is
/// held for the change of a few words alone: nothing waits for a file behind it.
public final class LiveProjection: Sendable {
  /// A projection that can be read.
  public struct Readable: Sendable, Equatable {
    public let path: String
    /// Whether this program's fold made it.
    public let isOwn: Bool
    /// The file itself, should another one get its path; nil if it could not be found.
    private let file: FileIdentity?

    init(path: String, isOwn: Bool) {
      self.path = path
      self.isOwn = isOwn
      file = try? FileIdentity.of(path)
    }

    /// Whether the path still leads to the file that became live.
    ///
    /// - Throws: `LedgerError.corrupt` if it does not.
    public func requireInPlace() throws(LedgerError) {
      guard let file, let found = try? FileIdentity.of(path), found.isSameFile(as: file) else {
        throw .corrupt("the file was replaced or removed")
      }
    }

    public static func == (one: Self, other: Self) -> Bool {
      one.path == other.path && one.isOwn == other.isOwn
    }
  }

  /// What is live at one moment.
  public struct Snapshot: Sendable {
    public var state = ProjectionState.absent
    /// Grows whenever another file is to be read, or none.
    public var generation = 0
    /// Nil exactly in the states that are not readable.
    public var readable: Readable?
    /// The file that was found damaged, until it is put aside.
    var damaged: String?
  }

  private let live = Mutex(Snapshot())
  private let damageCount = Atomic<Int64>(0)
  private let holdsEvidenceFlag = Atomic<Bool>(true)
  private let hasStatementsFlag = Atomic<Bool>(true)
  private let mappingSeq = Atomic<Int64>(0)
  private let checkBegan = Atomic<Int64>(0)
  private let servedCount = Atomic<Int>(0)
  /// Signalled with every change of state, for the thread that maintains the projection.
  let changed = WakeupEvent()
  public let folder: DataFolder
  public let successors = Successors()

  init(folder: DataFolder) { self.folder = folder }

  public var current: Snapshot { live.withLock { $0 } }
  public var state: ProjectionState { current.state }

  /// How often a projection was found damaged since the start.
  public var damages: Int64 { damageCount.load(ordering: .relaxed) }

  /// Whether the journal holds evidence. Without any, a row is not asked for when it was confirmed.
  public var holdsEvidence: Bool { holdsEvidenceFlag.load(ordering: .acquiring) }

  func recordEvidence(isHeld: Bool) { holdsEvidenceFlag.store(isHeld, ordering: .releasing) }

  /// Whether the journal has statements about customers.
  public var hasStatements: Bool { hasStatementsFlag.load(ordering: .acquiring) }

  func recordStatements(_ hasSome: Bool) { hasStatementsFlag.store(hasSome, ordering: .releasing) }

  /// The seq of the last mapping of products to names that was journaled; 0 if none was.
  public var lastMapping: Int64 { mappingSeq.load(ordering: .acquiring) }

  func recordMapping(_ seq: Int64) { mappingSeq.store(seq, ordering: .releasing) }

  /// When the last complete check of all rows that found no damage began, milliseconds since 1970;
  /// 0 before any.
  public var checkedAt: Int64 { checkBegan.load(ordering: .relaxed) }

  func recordCheck(beganAt time: Int64) { checkBegan.store(time, ordering: .relaxed) }

  /// How many orders of the maintaining thread the writer has served, successfully or not.
  var ordersServed: Int { servedCount.load(ordering: .acquiring) }

  @Sendable func recordOrder() {
    servedCount.add(1, ordering: .releasing)
    changed.signal()
  }

  /// Changes the state.
  ///
  /// - Parameter readable: the file that is read from now on, for the events that bring one.
  /// - Returns: whether the event was not ignored.
  @discardableResult
  func apply(_ event: ProjectionEvent, _ readable: Readable? = nil) -> Bool {
    let isChanged = live.withLock { live in
      guard let next = live.state.next(event) else { return false }
      live.state = next
      let file = next.isReadable ? readable ?? live.readable : nil
      if file != live.readable || readable != nil { live.generation += 1 }
      live.readable = file
      if next != .damaged { live.damaged = nil }
      return true
    }
    if isChanged { changed.signal() }
    return isChanged
  }

  /// Reports that the file of a generation is damaged: it is no longer read, is put aside, and is
  /// built again from the journal. Logged and counted once for each file.
  ///
  /// - Parameter generation: of the file that was read, because another may be live by now.
  public func reportDamage(_ generation: Int, _ error: LedgerError) {
    let isFirst = live.withLock { live in
      guard live.generation == generation, let next = live.state.next(.damageFound) else {
        return false
      }
      live.state = next
      live.generation += 1
      live.damaged = live.readable?.path
      live.readable = nil
      return true
    }
    guard isFirst else { return }
    recordDamage(error)
    changed.signal()
  }

  /// Logs and counts a damaged file.
  func recordDamage(_ error: LedgerError) {
    damageCount.add(1, ordering: .relaxed)
    Log.write(
      .error, "projection_damaged",
      [
        (
          "error", .string([.corrupt, .io].contains(error.code) ? error.detail : error.description)
        ),
        ("next", .string("none: it is put aside and built again from the journal")),
      ])
  }
}
