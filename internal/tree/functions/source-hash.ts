import { createHash, type Hash } from "node:crypto";
import { StateFailure } from "../function/mod.ts";

/** The expected digest of a file. */
export interface SourceHash {
  algorithm: "sha256" | "sha512";
  /** Hexadecimal. */
  value: string;
}

const form = /^(?:(sha256|sha512)[=:])?([0-9a-f]+)$/i;
const lengths = { sha256: 64, sha512: 128 } as const;
const expected = "source_hash: expected sha256=… or sha512=… in hexadecimal; weaker digests are not accepted";

/** The problem with the `source_hash` of a state, if any. */
export function refuseSourceHash(text: string | undefined): string | undefined {
  return text === undefined || parse(text) !== undefined ? undefined : expected;
}

/** @returns `undefined` without a `source_hash`. @throws StateFailure */
export function readSourceHash(text: string | undefined): SourceHash | undefined {
  if (text === undefined) return undefined;
  const hash = parse(text);
  if (hash === undefined) throw new StateFailure(expected);
  return hash;
}

/** Hashes content as it is read; `end` compares the digest. */
export function verifying(hash: SourceHash, what: string): { hash: Hash; end(): void } {
  const running = createHash(hash.algorithm);
  return {
    hash: running,
    end() {
      const found = running.digest("hex");
      if (found !== hash.value) {
        throw new StateFailure(
          `${what} does not match source_hash: expected ${hash.algorithm}=${hash.value}, found ${found}`,
        );
      }
    },
  };
}

function parse(text: string): SourceHash | undefined {
  const [, named, value = ""] = form.exec(text.trim()) ?? [];
  const algorithm = (named?.toLowerCase() ?? (value.length === lengths.sha512 ? "sha512" : "sha256")) as
    | "sha256"
    | "sha512";
  return value.length === lengths[algorithm] ? { algorithm, value: value.toLowerCase() } : undefined;
}
