import * as v from "valibot";
import { sha256Hex } from "../../base/sha256.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import type { Binaries } from "./binaries.ts";

/** What the operations on binaries need. */
export type BinaryDeps = Pick<Binaries, "put" | "commit">;

const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array, "must be bytes");
const digest = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be a hexadecimal SHA-256"));

export const putChunk = operation({
  name: "binaries.put",
  kind: "change",
  summary: "Store a chunk of a binary before its commit",
  // The digest identifies the chunk, and no peel sees it before an operator commits the binary.
  admits: ["operator", "anonymous"],
  input: v.strictObject({ digest, data: bytes }),
  output: v.object({}),
  touches: ({ digest }) => ({ binary: digest }),
  async run(deps: Pick<Binaries, "put">, { digest, data }) {
    await deps.put(digest, data);
    return {};
  },
});

export const commitBinary = operation({
  name: "binaries.commit",
  kind: "change",
  summary: "Make a binary available to peels",
  scope: { kind: "binaries", action: "put" },
  /** @param manifest encoded */
  input: v.strictObject({ manifest: bytes }),
  /** `missing` lists the chunks to store first; when it is empty, the binary is committed. */
  output: v.object({ missing: v.array(digest) }),
  touches: ({ manifest }) => ({ binary: sha256Hex(manifest) }),
  async run(deps: Pick<Binaries, "commit">, { manifest }, call) {
    const committed = await deps.commit(manifest, operatorOf(call));
    return { missing: "missing" in committed ? [...committed.missing] : [] };
  },
});
