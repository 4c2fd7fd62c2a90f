import Glibc

/// What libFuzzer calls, where a program is linked with it: one input for the target that
/// FUZZ_TARGET names. A fault ends the process, so that the input is kept.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
  guard let target = chosen else {
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

private let chosen = getenv("FUZZ_TARGET").flatMap { FuzzTarget.named(String(cString: $0)) }
