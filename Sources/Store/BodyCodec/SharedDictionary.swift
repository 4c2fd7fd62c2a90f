import Synchronization

/// The dictionary with which a journal's writer compresses bodies. It is published once it is
/// committed and will be used until Apple's certificate changes.
public final class SharedDictionary: Sendable {
  private let held = Mutex<DictionaryStore.Entry?>(nil)

  public init() {}

  var current: DictionaryStore.Entry? { held.withLock { $0 } }

  func publish(_ entry: DictionaryStore.Entry?) { held.withLock { $0 = entry } }
}
