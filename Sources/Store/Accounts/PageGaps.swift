import CSQLite
import Synchronization

/// Clears the gap of each page of a b-tree as it is written into a file: the bytes between the cell
/// pointers and the cells (sqlite.org/fileformat.html#b_tree_pages).
///
/// `secure_delete` clears what is deleted where it stands. While SQLite balances a tree it also
/// moves cells to other pages, and leaves copies of them in the gaps of the pages that it built
/// anew. No SQL reaches these. What is erased later would stay there, in the file and in every
/// backup of it.
///
/// In WAL mode a page gets into the file by checkpoints alone, which read it from the -wal. So no
/// file that was always written by such connections has a deleted byte once its -wal is emptied.
/// The pages in the memory of a connection keep their gaps: `SQLiteConnection.forgetPages`.
enum PageGaps {
  /// From this size on, bytes, no page is cleared: the first byte of a page that belongs to no
  /// b-tree is the highest one of a page number, and that of a b-tree is at least 2, which page
  /// numbers reach at twice this size.
  static let maximumFileSize: Int64 = 1 << 36

  private typealias Methods = UnsafeMutablePointer<sqlite3_io_methods>

  /// The addresses of SQLite's methods, and of those that clear gaps. SQLite has one value for all
  /// files that are locked in the same way, so there are few, which are never freed.
  private static let known = Mutex<[Int: Int]>([:])

  /// From now on clears what a connection writes into its file. Does nothing for a file in memory.
  static func clear(_ handle: OpaquePointer) {
    var found: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &found) == SQLITE_OK,
      let file = found, let methods = file.pointee.pMethods
    else { return }
    let address = known.withLock { known in
      let original = Int(bitPattern: methods)
      let clearing = known[original] ?? Int(bitPattern: Self.clearing(methods))
      known[original] = clearing
      return clearing
    }
    file.pointee.pMethods = UnsafePointer(bitPattern: address)
  }

  /// The methods that clear gaps; behind them those that they call.
  private static func clearing(_ original: UnsafePointer<sqlite3_io_methods>) -> Methods {
    let methods = Methods.allocate(capacity: 2)
    methods.initialize(repeating: original.pointee, count: 2)
    methods.pointee.xWrite = { file, bytes, count, offset in
      guard let file, let bytes, let original = file.pointee.pMethods?.advanced(by: 1) else {
        return SQLITE_IOERR
      }
      let page = UnsafeRawBufferPointer(start: bytes, count: Int(count))
      var size: Int64 = 0
      guard let gap = PageGaps.gap(of: page, at: offset),
        original.pointee.xFileSize(file, &size) == SQLITE_OK, size < PageGaps.maximumFileSize
      else { return original.pointee.xWrite(file, bytes, count, offset) }
      return withUnsafeTemporaryAllocation(byteCount: page.count, alignment: 8) { cleared in
        cleared.copyMemory(from: page)
        for index in gap { cleared[index] = 0 }
        return original.pointee.xWrite(file, cleared.baseAddress, count, offset)
      }
    }
    return methods
  }

  /// The gap of a page of a b-tree; nil if it has none, or is another page.
  ///
  /// - Parameter offset: of the page in its file. The first page begins with the file's header.
  static func gap(of page: UnsafeRawBufferPointer, at offset: Int64) -> Range<Int>? {
    guard page.count >= 512, offset % Int64(page.count) == 0 else { return nil }
    let header = offset == 0 ? 100 : 0
    func number(_ index: Int) -> Int {
      Int(page[header + index]) << 8 | Int(page[header + index + 1])
    }
    let headerSize: Int
    switch page[header] {
    case 2, 5: headerSize = 12
    case 10, 13: headerSize = 8
    default: return nil
    }
    let start = header + headerSize + 2 * number(3)
    // 65,536 is written as 0.
    let end = number(5) == 0 ? 65_536 : number(5)
    return start < end && end <= page.count ? start..<end : nil
  }
}
