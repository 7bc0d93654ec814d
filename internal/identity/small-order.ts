// Both curves have a few points that generate next to nothing. With such an Ed25519 key one signature verifies
// for nearly every message, and with such an X25519 key every shared secret is zero.

/** The y coordinates of Ed25519's points of small order, in every encoding; without the bit of the sign. */
const ed25519 = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  // The prime itself and the prime plus one: not canonical, but accepted as 0 and 1 by many implementations.
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/** The u coordinates of X25519's points of small order, whose highest bit RFC 7748 ignores. */
const x25519 = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

const encodings: Readonly<Record<"ed25519" | "x25519", ReadonlySet<string>>> = {
  ed25519: new Set(ed25519),
  x25519: new Set(x25519),
};

/** Whether 32 public bytes are a point of small order in any encoding, so that they are useless as a key. */
export function isSmallOrder(curve: "ed25519" | "x25519", raw: Uint8Array): boolean {
  const masked = Buffer.from(raw);
  masked[31] = (masked[31] ?? 0) & 0x7f;
  return encodings[curve].has(masked.toString("hex"));
}
