import { encode } from "../../internal/base/msgpack.ts";
import { sha256 } from "../../internal/base/sha256.ts";

/** Facts of a peel for which the target reaches the limit of its cost. */
export const costlyFacts = {
  os: "Debian",
  long: Array.from({ length: 55 }, (_, at) => lettersOf(at).slice(0, 1_000)),
};

/** Allowed when it is read: it costs seconds over texts after which every state of the engine is another one. */
export const costlyTarget = Array.from({ length: 9 }, (_, at) => `P@long:.*a.{90}${at}`).join(" or ");

/** A text of two letters in no order. */
function lettersOf(at: number): string {
  const digests = Array.from({ length: 4 }, (_, part) => sha256(encode([at, part])));
  return digests
    .flatMap((digest) => [...digest].map((byte) => byte.toString(2).padStart(8, "0")))
    .join("")
    .replaceAll("0", "a")
    .replaceAll("1", "b");
}
