import { createHash, type Hash } from "node:crypto";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { StateFailure } from "../../function/mod.ts";

/** Digests by name, with the number of their hexadecimal digits. */
const lengths = { md5: 32, sha1: 40, sha224: 56, sha256: 64, sha384: 96, sha512: 128 } as const;
type Digest = keyof typeof lengths;

/** The expected digest of a file. */
export interface SourceHash {
  algorithm: Digest;
  /** Hexadecimal. */
  value: string;
}

export const sourceHashArgs = {
  source_hash: arg.string(
    "Expected digest of the source: sha256=… or another algorithm in hexadecimal, or a file with digests: svc://path, salt://path or https://…. Required for a source on a server. A digest with md5 or sha1 gives a warning.",
  ),
  source_hash_name: arg.string(
    "The name whose digest is looked up in a file with digests; the file name of the source by default.",
  ),
  skip_verify: arg.boolean(
    "Accepts an https:// source without source_hash. It is fetched in each run, and gives a warning.",
  ),
} as const satisfies Record<string, ArgSpec>;

const form = /^(?:(md5|sha1|sha224|sha256|sha384|sha512)[=:])?([0-9a-f]+)$/i;
const expected =
  "source_hash: expected sha256=… or another digest in hexadecimal, or a file with digests: svc://path, salt://path or https://…";

/** Whether it names a file with digests. */
export function isHashFile(text: string): boolean {
  return /^(?:svc|salt):\/\/\/?[^?]+$/.test(text) || (text.startsWith("https://") && URL.canParse(text));
}

/** The problem with the `source_hash` of a state, if any. */
export function refuseSourceHash(text: string | undefined): string | undefined {
  return text === undefined || isHashFile(text) || parseSourceHash(text) !== undefined ? undefined : expected;
}

/** What a digest does not protect from; `undefined` for a strong one. */
export function warnOfHash({
  source_hash: text,
  skip_verify,
}: {
  source_hash: string | undefined;
  skip_verify?: boolean | undefined;
}): string | undefined {
  const algorithm = text === undefined ? undefined : parseSourceHash(text)?.algorithm;
  if (algorithm === "md5" || algorithm === "sha1") {
    return `source_hash: files with a chosen content can be made for ${algorithm}; use sha256`;
  }
  if (text === undefined && skip_verify === true) {
    return "skip_verify: the source is not verified; give source_hash";
  }
  return undefined;
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

/** Parses a digest; without a name its length tells the algorithm. */
export function parseSourceHash(text: string): SourceHash | undefined {
  const [, named, value = ""] = form.exec(text.trim()) ?? [];
  const names = Object.keys(lengths) as Digest[];
  const algorithm = names.find((name) =>
    named === undefined ? value.length === lengths[name] : name === named.toLowerCase(),
  );
  if (algorithm === undefined || value.length !== lengths[algorithm]) return undefined;
  return { algorithm, value: value.toLowerCase() };
}
