import COpenSSL

/// A table of a P-256 key's multiples, which cuts the time to verify a signature to a third.
///
/// ECDSA (FIPS 186-5 section 6.4.2) computes u₁G + u₂Q. OpenSSL has a table of multiples for the
/// curve's generator G but none for a key Q, which it expects to use once. Apple signs with one key
/// for a year. So Q becomes the generator of a second group, for which OpenSSL makes the same kind
/// of table (EC_GROUP_precompute_mult(3)). OpenSSL does all arithmetic on points; this class only
/// evaluates the equation, with one division, by s (`ScalarInverse`).
///
/// A signature takes 23 µs, with OpenSSL alone 75 µs. Making the table takes 26 ms and 150 KB. If a
/// version of OpenSSL makes no table, the results are the same but slower than without this class.
final class KeyTable {
  private let curve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1)
  /// The curve with the key as its generator.
  private let group: OpaquePointer?
  private let numbers = BN_CTX_new()
  private let sum: OpaquePointer?
  private let term: OpaquePointer?
  /// For products modulo the order and modulo the field without a division (P. L. Montgomery,
  /// "Modular Multiplication Without Trial Division", Mathematics of Computation 44, 1985): each
  /// product is divided by R, which is 2^256.
  private let orderForm = BN_MONT_CTX_new()
  private let fieldForm = BN_MONT_CTX_new()
  /// R^3 modulo the field: cancels the divisions by R in `isX`.
  private let cube = BN_new()

  /// Makes the table of an uncompressed point (SEC 1 section 2.3.3). Returns nil if it is not on
  /// P-256 or there is no memory.
  init?(_ point: ArraySlice<UInt8>) {
    group = EC_GROUP_dup(curve)
    sum = EC_POINT_new(curve)
    term = EC_POINT_new(curve)
    guard curve != nil, group != nil, numbers != nil, sum != nil, term != nil,
      orderForm != nil, fieldForm != nil, cube != nil, point.count == 65,
      point.withUnsafeBufferPointer({ bytes in
        EC_POINT_oct2point(curve, term, bytes.baseAddress, bytes.count, numbers) == 1
      }),
      EC_GROUP_set_generator(
        group, term, EC_GROUP_get0_order(curve), EC_GROUP_get0_cofactor(curve)) == 1,
      subledger_precompute_multiples(group, numbers) == 1,
      BN_MONT_CTX_set(orderForm, EC_GROUP_get0_order(curve), numbers) == 1,
      BN_MONT_CTX_set(fieldForm, EC_GROUP_get0_field(curve), numbers) == 1,
      BN_to_montgomery(cube, BN_value_one(), fieldForm, numbers) == 1,
      BN_to_montgomery(cube, cube, fieldForm, numbers) == 1,
      BN_to_montgomery(cube, cube, fieldForm, numbers) == 1
    else {
      ERR_clear_error()
      return nil
    }
  }

  deinit {
    BN_free(cube)
    BN_MONT_CTX_free(fieldForm)
    BN_MONT_CTX_free(orderForm)
    EC_POINT_free(term)
    EC_POINT_free(sum)
    BN_CTX_free(numbers)
    EC_GROUP_free(group)
    EC_GROUP_free(curve)
  }

  /// Whether `signature`, R and S of 32 bytes each, is valid for a digest of 32 bytes. Also false
  /// when a computation failed, so the caller must let OpenSSL decide before it refuses.
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

  /// Whether a number is at least 1 and less than the order.
  private func isScalar(_ number: OpaquePointer) -> Bool {
    BN_is_zero(number) == 0 && BN_cmp(number, order) < 0
  }

  /// R/s modulo the order. The result is checked: its product with s must be 1.
  private func inverse(of s: OpaquePointer, _ bytes: ArraySlice<UInt8>) -> OpaquePointer? {
    guard let almost = ScalarInverse.almost(of: bytes),
      let inverse = number(almost.number[...]), let power = BN_CTX_get(numbers),
      BN_set_bit(power, Int32(ScalarInverse.maximumDoublings - almost.doublings)) == 1,
      // Above R only for a small s, which nobody signs with by chance.
      almost.doublings >= 256 || BN_nnmod(power, power, order, numbers) == 1,
      BN_mod_mul_montgomery(inverse, inverse, power, orderForm, numbers) == 1,
      BN_mod_mul_montgomery(power, inverse, s, orderForm, numbers) == 1, BN_is_one(power) == 1
    else { return nil }
    return inverse
  }

  /// Sets `sum` to e/s · G + r/s · Q.
  private func add(_ e: OpaquePointer, _ r: OpaquePointer, _ inverse: OpaquePointer) -> Bool {
    BN_mod_mul_montgomery(e, e, inverse, orderForm, numbers) == 1
      && EC_POINT_mul(curve, sum, e, nil, nil, numbers) == 1
      && BN_mod_mul_montgomery(inverse, r, inverse, orderForm, numbers) == 1
      && EC_POINT_mul(group, term, inverse, nil, nil, numbers) == 1
      && EC_POINT_add(curve, sum, sum, term, numbers) == 1
  }

  /// Whether the x coordinate of `sum` is r modulo the order n. False at infinity, which has none.
  ///
  /// The coordinate is given as X/Z². A division modulo p takes half as long as multiplying a
  /// point. So X is compared with r·Z² instead, and, if r + n is less than p, with (r + n)·Z².
  private func isX(_ r: OpaquePointer) -> Bool {
    guard EC_POINT_is_at_infinity(curve, sum) == 0, let x = BN_CTX_get(numbers),
      let z = BN_CTX_get(numbers), let next = BN_CTX_get(numbers),
      subledger_get_projective(curve, sum, x, z, numbers) == 1,
      BN_mod_mul_montgomery(z, z, z, fieldForm, numbers) == 1,
      BN_mod_mul_montgomery(z, z, cube, fieldForm, numbers) == 1, BN_add(next, r, order) == 1
    else { return false }
    return isProduct(x, r, z) || (BN_cmp(next, field) < 0 && isProduct(x, next, z))
  }

  /// Whether x equals r·z/R modulo p.
  private func isProduct(_ x: OpaquePointer, _ r: OpaquePointer, _ z: OpaquePointer) -> Bool {
    guard let product = BN_CTX_get(numbers) else { return false }
    return BN_mod_mul_montgomery(product, r, z, fieldForm, numbers) == 1
      && BN_cmp(product, x) == 0
  }
}
