import AppStoreSimulator
import Platform
import Testing

/// A valid signature on P-384.
struct P384Vector: CustomTestStringConvertible {
  let testDescription: String
  let point: [UInt8]
  let digest: [UInt8]
  /// The signature in DER (RFC 3279 section 2.2.3).
  let signature: [UInt8]

  /// - Parameters: in hexadecimal, all but the name.
  private init(_ name: String, _ point: String, _ digest: String, _ r: String, _ s: String) {
    testDescription = name
    self.point = Hexadecimal.decode(point) ?? []
    self.digest = Hexadecimal.decode(digest) ?? []
    signature = Self.signature(Hexadecimal.decode(r) ?? [], Hexadecimal.decode(s) ?? [])
  }

  static func signature(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] {
    DERWriter.sequence(DERWriter.integer(r), DERWriter.integer(s))
  }

  /// The order n of P-384 (SP 800-186 section 3.2.1.4).
  static let order =
    [UInt8](repeating: 0xFF, count: 24) + [
      0xC7, 0x63, 0x4D, 0x81, 0xF4, 0x37, 0x2D, 0xDF, 0x58, 0x1A, 0x0D, 0xB2, 0x48, 0xB0, 0xA7,
      0x7A, 0xEC, 0xEC, 0x19, 0x6A, 0xCC, 0xC5, 0x29, 0x73,
    ]

  /// The key of RFC 6979 section A.2.6.
  private static let key =
    "04ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e06aae5286b300c64def8f0ea905586"
    + "6064a254515480bc138015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9f54ca84b3f1c9d"
    + "b1288b231c3ae0d4fe7344fd2533264720"
  /// SHA-384 of "sample".
  private static let sample =
    "9a9083505bc92276aec4be312696ef7bf3bf603f4bbd381196a029f340585312313bca4a9b5b890e"
    + "fee42c77b1ee25fe"
  /// The x coordinate of 12345 · G.
  private static let x =
    "e86b995e350e4d312a95a6b7d5d8cdcdb4682f588800a1cd6c972e1dcb2a5ac38d90046951b03ccb"
    + "3b179a89fda88b1b"
  private static let zeros = String(repeating: "0", count: 88)

  /// Those of RFC 6979 section A.2.6 for "sample", and signatures whose keys or digests were made
  /// so that a number in the equation u₁G + u₂Q is special. The program openssl accepts all.
  static let all = [
    P384Vector(
      "RFC 6979, SHA-256",
      key,
      "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf",
      "21b13d1e013c7fa1392d03c5f99af8b30c570c6f98d4ea8e354b63a21d3daa33bde1e888e63355d9"
        + "2fa2b3c36d8fb2cd",
      "f3aa443fb107745bf4bd77cb3891674632068a10ca67e3d45db2266fa7d1feebefdc63eccd1ac42e"
        + "c0cb8668a4fa0ab0"),
    P384Vector(
      "RFC 6979, SHA-384",
      key,
      sample,
      "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa73d64c4ea95ad133c81a648152e44acf9"
        + "6e36dd1e80fabe46",
      "99ef4aeb15f178cea1fe40db2603138f130e740a19624526203b6351d0a3a94fa329c145786e679e"
        + "7b82c71a38628ac8"),
    P384Vector(
      "RFC 6979, SHA-512",
      key,
      "39a5e04aaff7455d9850c605364f514c11324ce64016960d23d5dc57d3ffd8f49a739468ab8049bf"
        + "18eef820cdb1ad6c9015f838556bc7fad4138b23fdf986c7",
      "ed0959d5880ab2d869ae7f6c2915c6d60f96507f9cb3e047c0046861da4a799cfe30f35cc900056d"
        + "7c99cd7882433709",
      "512c8cceee3890a84058ce1e22dbc2198f42323ce8aca9135329f03c068e5112dc7cc3ef3446defc"
        + "eb01a45c2667fdd5"),
    P384Vector(
      "u₂ = 1 (r = s)",
      "04d90b1504c63bcfc4870618d76a7a1199fcca1666374b096e349838017d2aa7af30abc037bb28f2"
        + "0bf61ea23e4833a8ef06aed65ff5c135025dda57cfdf51b46064d5d846f4e64acb0e1d86be753a17"
        + "9ee9a00719fef1732a451177235bd1f8a0",
      sample,
      x,
      x),
    P384Vector(
      "u₂ = 2",
      "048d0780fcd8c8ab2c941a7ac10e3e843fb2d953e0c9a4588923309182cc0b3a9bc1971537c4477b"
        + "f456fd39f73943ca1034b7b377cb7e847d12ed309db624883d5afa43ad808e5bb349cb6c782e4d27"
        + "cf8f420282b3ebf0cd887c569565f439ba",
      sample,
      x,
      "f435ccaf1a872698954ad35beaec66e6da3417ac440050e699fd3dcfdfb0c45172d5090dcd307223"
        + "1401d9fa6536da47"),
    P384Vector(
      "u₂ = n - 1",
      "0499e93c5378e1a570d55320af041725437101cf13234325195c5f6d1c6cff1b66d7d899080ac75e"
        + "66b70f85a26e662b1eb7b1624e7390d5f6c22842ee2ed279d07f38ea399d4ea9013ae63c7c0920e0"
        + "acefe80a33528b90b65eaf442c8058849f",
      sample,
      x,
      "179466a1caf1b2ced56a59482a2732324b97d0a777ff5e325acc1f64290cd31bca8a0948f7006aaf"
        + "b1d47ee0cf1c9e58"),
    P384Vector(
      "s = 1",
      "041a4102b5262c97995308f22342fea2c354dd273fb78e3eaf7e3eb630f5075d5f6a3ce395570863"
        + "fa6cd7f6516da167b288f5f92ed1f4bc54ccf01d4a17288fc98daee3bff81f3ada596e61d57b0fa8"
        + "34da0cfaba6e60b667621c4e46d913fc62",
      sample,
      x,
      zeros + "00000001"),
    P384Vector(
      "s = n - 1",
      "04eb34487f4de55b93ac86f57d691d55d69f0760116f24e6449b03a99b97c08339aa5ae2b7754af2"
        + "2f611b283fef7b5139755c5f70771b3451f7f540addcdf22e70584ea69ca0f9fd5c665169a6d44d5"
        + "8506ebd57eb3dab6ebef97ce833864d674",
      sample,
      x,
      "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77a"
        + "ecec196accc52972"),
    P384Vector(
      "u₁ = 0",
      "04f18e38517e06e6b8a08afdd5bf10bd936992f5d08cac321c3a3a1b9aec1fae4d753e44126a2a4f"
        + "d857aaf77f2058dc9614eb1be85f189de21927da4b785ff5c4aedb0ae80e3d13a887e026a65dc00b"
        + "ccb125fc781af1586edb8da56bd2a9b198",
      zeros + "00000000",
      x,
      zeros + "00000309"),
    P384Vector(
      "u₁ = 1 (e = s)",
      "04dd2af7e2be53ba940066957e0ca8d435d276c546e490426cb8cb51503a53e988caca7b045c4d03"
        + "9049001a5c81ec07ae5d6ce7d2f2c7da0ad4eac00226962d27c77e859c638bab4786192858c364d4"
        + "08bef647763df37b0aec2fb9844aa7580b",
      sample,
      x,
      sample),
    P384Vector(
      "u₁ = n - 1",
      "0478be0a951610ad20975d687645381d86487c2874a36fa1282c95e5ae7dc0810ab9c7be9cd72a75"
        + "4a2585506a2a06b806c9f30c6f3a4c70f68e80dd88362a32c4d765accb27571debf6fde825db6a56"
        + "f6842cbc8cc71c581baf011a9244bbbe97",
      sample,
      x,
      "656f7cafa436dd89513b41ced96910840c409fc0b442c7ee30c3238eb3dedacd26de4367ad551e6b"
        + "ee07ecf31ad70375"),
    P384Vector(
      "x = n + 2",
      "04847e3c54b73acedcbb8d1c99f30fee15ae074dbcff14fc926af16eb3fdfa8f525d9c54732acd25"
        + "16f8d682375a64368354bb017e453d7ec14459439af5bd1effe78f127d67a1965b4758cffeb9276f"
        + "792856d3c0b90e8009be73e5f0f854bb68",
      sample,
      zeros + "00000002",
      zeros + "00003039"),
    P384Vector(
      "r = 2",
      "048650f6a16bc3b09295e860143f177e01c5c51372d89627c79ffc1c822d440e13eefdea85d3b382"
        + "2d07785baf5d46cb2dce0b278792fdbf789ff9b931dfa381eb00c2a554712db9e15b1f9eb14bf7c4"
        + "83f7fc7dd5cf51da4f4c4d9d9facd583c5",
      sample,
      zeros + "00000002",
      zeros + "00003039"),
    P384Vector(
      "r = n - 1",
      "041200f358b05b2459a22655bd8e70f70ff8260245279b5ef18241330ff39a0234d5f6cdcddf8288"
        + "af1f16d0b1e61559c86cead36fae04050cd8a1e6e3fb2a312f29945c88f14db2621558d04482e9cb"
        + "6af0c7c89ee8d9481f6e3fec410ab6f7d1",
      sample,
      "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77a"
        + "ecec196accc52972",
      zeros + "00003039"),
    P384Vector(
      "u₁ G + Q = O",
      key,
      "bba6c63b93b4db7df63bec14043a4c24d897d41744bf7c6e59332f05c37d4c26ca99407a2e0cc230"
        + "b82de4b713df092f",
      x,
      "e0a8c4a20e91e9405ac3dc6507d8efe2318e1c8a67cf33dfd4febe6ffa1aa5817a14c2441e7ba47e"
        + "b64d8eeea71a9d61"),
    P384Vector(
      "u₁ G + Q = (u₂ - 1) Q",
      key,
      "74e67cbb1e74131b0f4c3052a77bf9ab7624498107e470bdfd4612a44947968b9edbd92b98c7b2bd"
        + "4d97ca80b9b5b353",
      x,
      "5b6ada26f8b968ff2622e13b5ff3b6c99c381050b3de481262e36dd85e8f8a4724934364a3835bfd"
        + "3ce524ec764c0592"),
    P384Vector(
      "Q = G",
      "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf5529"
        + "6c3a545e3872760ab73617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8"
        + "c00a60b1ce1d7e819d7a431d7c90ea0e5f",
      sample,
      x,
      "c9292f036f8e8b37ac0d8c75f8c32fe06c5d7c79d7cece5f4c2125d24ec5808020722d18f3f32ea8"
        + "d801cdea263bf5a2"),
    P384Vector(
      "Q = -G",
      "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf5529"
        + "6c3a545e3872760ab7c9e821b569d9d390a26167406d6d23d6070be242d765eb831625ceec4a0f47"
        + "3ef59f4e30e2817e6285bce2846f15f1a0",
      sample,
      x,
      "0f7bfd87ce70fdb727f3500c197e13941e67e120590fa6ad305123e62989b82464e15d6a579f6379"
        + "df0cf9d09b4e1114"),
    P384Vector(
      "Q = 2G",
      "0408d999057ba3d2d969260045c55b97f089025959a6f434d651d207d19fb96e9e4fe0e86ebe0e64"
        + "f85b96a9c75295df618e80f1fa5b1b3cedb7bfe8dffd6dba74b275d875bc6cc43e904e505f256ab4"
        + "255ffd43e94d39e22d61501e700a940e80",
      sample,
      x,
      "25ffc7c1401d51f7ee1aaaaae865be0693584a26972e623892a5d9466d2c36cea620873df96c6cc5"
        + "67901e8c1eedbe76"),
  ]
}
