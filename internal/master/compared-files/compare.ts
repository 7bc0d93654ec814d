import { basename } from "node:path";

/** What a master reports about the files that all masters should have. */
export interface ReportedFiles {
  readonly name: string;
  /** Public keys of settings: digests that another key made cannot be compared. */
  readonly settingsKeys: readonly string[];
  /** By kind; `undefined` where a version does not report them, or has not read them yet. */
  readonly files: Readonly<Record<string, Uint8Array>> | undefined;
}

/** Something that a master has otherwise than this one. */
export interface Difference {
  /** `settings.seed`, or a kind. */
  readonly what: string;
  readonly master: string;
  readonly here: string | undefined;
  readonly there: string | undefined;
}

/**
 * What differs between this master and the others. A missing file is another one than an empty one; a missing
 * directory is an empty one.
 *
 * @param kinds those that this master reads from its own host
 * @param empty the digest of a directory without files
 */
export function findDifferences(
  own: ReportedFiles,
  others: readonly ReportedFiles[],
  { kinds, empty }: { kinds: readonly string[]; empty: Uint8Array },
): Difference[] {
  const { files } = own;
  const [key] = own.settingsKeys;
  if (files === undefined || key === undefined) return [];
  return others.flatMap((other): Difference[] => {
    const [otherKey] = other.settingsKeys;
    // A master without a key reports that in its check `keys`.
    if (other.files === undefined || otherKey === undefined) return [];
    if (otherKey !== key) {
      return [{ what: "settings.seed", master: other.name, here: key, there: otherKey }];
    }
    const there = other.files;
    return kinds
      .map((kind) => ({
        what: kind,
        master: other.name,
        here: hexOf(files[kind], empty),
        there: hexOf(there[kind], empty),
      }))
      .filter((found) => found.here !== found.there);
  });
}

function hexOf(digest: Uint8Array | undefined, empty: Uint8Array): string | undefined {
  return digest === undefined || Buffer.compare(digest, empty) === 0
    ? undefined
    : Buffer.from(digest).toString("hex");
}

/** One line for people. @param path of the files on this host */
export function describeDifference({ what, master, here, there }: Difference, path: string): string {
  const name = what === "settings.seed" ? what : basename(path);
  return `${name} differs from that of ${master} (${shortened(here)} here, ${shortened(there)} there)`;
}

const shortened = (hex: string | undefined): string => (hex === undefined ? "none" : `${hex.slice(0, 4)}…`);

/**
 * Since when each difference is there without a break: an upload to one master after the other takes a while.
 */
export function createPatience(patienceMs: number): {
  /** @returns those that lasted as long as that */
  lasting(found: readonly Difference[], now: number): Difference[];
} {
  let since = new Map<string, number>();
  return {
    lasting(found, now) {
      const keyOf = ({ what, master }: Difference) => `${master}\0${what}`;
      since = new Map(found.map((one) => [keyOf(one), since.get(keyOf(one)) ?? now]));
      return found.filter((one) => now - (since.get(keyOf(one)) ?? now) >= patienceMs);
    },
  };
}
