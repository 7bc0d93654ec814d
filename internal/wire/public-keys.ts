import * as v from "valibot";
import { described } from "../base/schema.ts";
import { decodePublicKey } from "../identity/mod.ts";

// Messages never repeat the input: the sender controls it, and messages are logged.

export const publicKeyField = described(
  v.pipe(
    v.string(),
    v.check(
      (text) => text.length === 56 && decodePublicKey("user", text) !== undefined,
      "must be an Ed25519 user public key: U and 55 more characters",
    ),
  ),
  "Ed25519 user public key: `U` and 55 more characters",
);

export const curvePublicKeyField = described(
  v.pipe(
    v.string(),
    v.check(
      (text) => text.length === 56 && decodePublicKey("curve", text) !== undefined,
      "must be an X25519 public key: X and 55 more characters",
    ),
  ),
  "X25519 public key: `X` and 55 more characters",
);
