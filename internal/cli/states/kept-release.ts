import { homedir } from "node:os";
import { join } from "node:path";
import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { readTextIfPresent } from "../../base/files/file.ts";
import { environmentKey } from "../../base/names/names.ts";
import { writePrivate } from "../contexts.ts";

// What this person released last, so that a master that names another fleet or other repositories is noticed, and so
// that the next release can be compared with it.

const row = v.tuple([v.string(), v.boolean(), v.number(), v.string()]);
const kept = v.object({
  /** Public key of the account of the peels. */
  fleet: v.string(),
  sources: v.array(v.string()),
  snapshot: v.string(),
  /** Path, whether it is executable, size and SHA-256 of each file. */
  files: v.array(row),
});

export type KeptRelease = v.InferOutput<typeof kept>;

/** @param fleet of the operator file */
const pathOf = (fleet: string, environment: string): string =>
  join(homedir(), ".svc", "releases", fleet, `${environmentKey(environment)}.json`);

/** @throws SvcError `bad_request` for a file that someone changed */
export function readKeptRelease(fleet: string, environment: string): KeptRelease | undefined {
  const path = pathOf(fleet, environment);
  const text = readTextIfPresent(path);
  if (text === undefined) return undefined;
  try {
    return v.parse(kept, JSON.parse(text));
  } catch (cause) {
    throw new SvcError("bad_request", `${path} cannot be read: remove it`, { cause });
  }
}

/** @throws SvcError `storage` */
export function writeKeptRelease(fleet: string, environment: string, release: KeptRelease): void {
  writePrivate(pathOf(fleet, environment), `${JSON.stringify(release)}\n`);
}
