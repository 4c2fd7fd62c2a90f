import COpenSSL

/// Bytes that OpenSSL reads like a file. It holds a copy of them: `BIO_new_mem_buf` would only
/// point into the array, which Swift may free after the call (BIO_s_mem(3)).
struct MemoryInput: ~Copyable {
  let handle: OpaquePointer

  /// Returns nil if there is no memory.
  static func open(_ bytes: [UInt8]) -> MemoryInput? {
    guard let handle = BIO_new(BIO_s_mem()) else { return nil }
    let input = MemoryInput(handle: handle)
    guard bytes.isEmpty || BIO_write(handle, bytes, Int32(clamping: bytes.count)) == bytes.count
    else { return nil }
    return input
  }

  private init(handle: OpaquePointer) { self.handle = handle }

  deinit { BIO_free(handle) }
}
