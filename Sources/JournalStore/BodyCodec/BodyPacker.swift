import Encoding
public import SignedData
import Synchronization

/// Packs bodies ahead of the writer, which has one thread: one packer for each thread that has the
/// time. What it cannot pack as the writer would, the writer packs.
public final class BodyPacker {
  private let packing = JWSPacking(Zstd())
  private let dictionary: SharedDictionary

  public init(_ dictionary: SharedDictionary) { self.dictionary = dictionary }

  public func body(_ jws: CompactJWS) -> NewEvent.Body {
    var body = NewEvent.Body.jws(jws)
    if let entry = dictionary.current,
      ByteSearch.areEqual(jws.header, entry.dictionary.header[...])
    {
      body.packed = packing.pack(jws, JWSParts(jws), against: entry)
    }
    return body
  }
}

/// The dictionary that a journal's writer packs bodies against, once that is on the disk and will
/// not change before Apple's certificate does.
public final class SharedDictionary: Sendable {
  private let held = Mutex<DictionaryStore.Entry?>(nil)

  public init() {}

  var current: DictionaryStore.Entry? { held.withLock { $0 } }

  func publish(_ entry: DictionaryStore.Entry?) { held.withLock { $0 = entry } }
}
