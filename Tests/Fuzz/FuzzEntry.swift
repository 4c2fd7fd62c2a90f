import Glibc

/// The function that libFuzzer calls with one input for the target named by FUZZ_TARGET. A fault
/// aborts the process, so that libFuzzer stores the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  guard let target = selected else {
    print("FUZZ_TARGET is one of: \(FuzzTarget.all.map(\.name).joined(separator: " "))")
    exit(2)
  }
  if let fault = target.fault(Array(UnsafeBufferPointer(start: bytes, count: count))) {
    print("\(target.name): \(fault)")
    fflush(nil)
    abort()
  }
  return 0
}

private let selected = getenv("FUZZ_TARGET").flatMap { FuzzTarget.named(String(cString: $0)) }
