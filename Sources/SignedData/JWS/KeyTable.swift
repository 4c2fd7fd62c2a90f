import COpenSSL

/// A table of a P-256 key's multiples: with it a signature costs a third.
///
/// ECDSA (FIPS 186-5 section 6.4.2) wants u₁G + u₂Q. For the curve's own G OpenSSL has a table of
/// multiples; for a key Q, which it expects to see once, it has none. Apple signs with one key for
/// a year, so Q becomes the generator of a second group, for which OpenSSL makes the same kind of
/// table (EC_GROUP_precompute_mult(3)). All arithmetic on points is OpenSSL's; here is the
/// equation, with no division but that by s (`ScalarInverse`).
///
/// A signature takes 25 µs where OpenSSL alone takes 75; the table is made in 26 ms and takes 150
/// KB. Where a library makes no table, it is as right and slower than without.
final class KeyTable {
  private let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
  /// The curve with the key in the generator's place.
  private let group: OpaquePointer?
  private let numbers = BN_CTX_new()
  private let sum: OpaquePointer?
  private let term: OpaquePointer?
  /// What takes the doublings of an inverse out again: 1/2 to the power of as many as there may be.
  private let halvings = BN_new()

  /// Nil where `point`, a key uncompressed (SEC 1 section 2.3.3), is none on P-256, and where there
  /// is no memory.
  init?(_ point: ArraySlice<UInt8>) {
    group = EC_GROUP_dup(curve)
    sum = EC_POINT_new(curve)
    term = EC_POINT_new(curve)
    guard curve != nil, group != nil, numbers != nil, sum != nil, term != nil,
      halvings != nil, point.count == 65,
      point.withUnsafeBufferPointer({ bytes in
        EC_POINT_oct2point(curve, term, bytes.baseAddress, bytes.count, numbers) == 1
      }),
      EC_GROUP_set_generator(
        group, term, EC_GROUP_get0_order(curve), EC_GROUP_get0_cofactor(curve)) == 1,
      subledger_precompute_multiples(group, numbers) == 1,
      BN_set_bit(halvings, Int32(ScalarInverse.maximumDoublings)) == 1,
      BN_mod_inverse(halvings, halvings, EC_GROUP_get0_order(curve), numbers) != nil
    else {
      ERR_clear_error()
      return nil
    }
  }

  deinit {
    BN_free(halvings)
    EC_POINT_free(term)
    EC_POINT_free(sum)
    BN_CTX_free(numbers)
    EC_GROUP_free(group)
    EC_GROUP_free(curve)
  }

  /// Whether `signature`, R and S of 32 bytes each, holds over a digest of 32. False may also be
  /// that something could not be worked out: then the caller asks OpenSSL, and refuses by that.
  func proves(_ signature: [UInt8], over digest: [UInt8]) -> Bool {
    BN_CTX_start(numbers)
    defer { BN_CTX_end(numbers) }
    guard let r = number(signature[..<32]), let s = number(signature[32...]),
      let e = number(digest[...]), isScalar(r), isScalar(s),
      let inverse = inverse(of: s, signature[32...]), add(e, r, inverse), isX(r)
    else {
      ERR_clear_error()
      return false
    }
    return true
  }

  private var order: OpaquePointer? { EC_GROUP_get0_order(curve) }
  private var field: OpaquePointer? { EC_GROUP_get0_field(curve) }

  private func number(_ bytes: ArraySlice<UInt8>) -> OpaquePointer? {
    guard let number = BN_CTX_get(numbers) else { return nil }
    return bytes.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, Int32($0.count), number) }
  }

  /// At least 1, and less than the order.
  private func isScalar(_ number: OpaquePointer) -> Bool {
    BN_is_zero(number) == 0 && BN_cmp(number, order) < 0
  }

  /// 1/s modulo the order: what was worked out here is multiplied back.
  private func inverse(of s: OpaquePointer, _ bytes: ArraySlice<UInt8>) -> OpaquePointer? {
    guard let almost = ScalarInverse.almost(of: bytes),
      let inverse = number(almost.number[...]), let product = BN_CTX_get(numbers),
      BN_lshift(inverse, inverse, Int32(ScalarInverse.maximumDoublings - almost.doublings)) == 1,
      BN_mod_mul(inverse, inverse, halvings, order, numbers) == 1,
      BN_mod_mul(product, inverse, s, order, numbers) == 1, BN_is_one(product) == 1
    else { return nil }
    return inverse
  }

  /// The sum becomes e/s · G + r/s · Q.
  private func add(_ e: OpaquePointer, _ r: OpaquePointer, _ inverse: OpaquePointer) -> Bool {
    BN_mod_mul(e, e, inverse, order, numbers) == 1
      && EC_POINT_mul(curve, sum, e, nil, nil, numbers) == 1
      && BN_mod_mul(inverse, r, inverse, order, numbers) == 1
      && EC_POINT_mul(group, term, inverse, nil, nil, numbers) == 1
      && EC_POINT_add(curve, sum, sum, term, numbers) == 1
  }

  /// Whether the sum's x is r modulo the order; there is none at infinity.
  ///
  /// The sum's x is known as X/Z². A division modulo p takes as long as half a multiple of a point:
  /// X is compared with r·Z² instead, and with (r + n)·Z² where r + n is less than p as well.
  private func isX(_ r: OpaquePointer) -> Bool {
    guard EC_POINT_is_at_infinity(curve, sum) == 0, let x = BN_CTX_get(numbers),
      let z = BN_CTX_get(numbers), let next = BN_CTX_get(numbers),
      subledger_get_projective(curve, sum, x, z, numbers) == 1,
      BN_mod_sqr(z, z, field, numbers) == 1, BN_add(next, r, order) == 1
    else { return false }
    return isProduct(x, r, z) || (BN_cmp(next, field) < 0 && isProduct(x, next, z))
  }

  /// Whether x is r·z in the curve's field.
  private func isProduct(_ x: OpaquePointer, _ r: OpaquePointer, _ z: OpaquePointer) -> Bool {
    guard let product = BN_CTX_get(numbers) else { return false }
    return BN_mod_mul(product, r, z, field, numbers) == 1 && BN_cmp(product, x) == 0
  }
}
