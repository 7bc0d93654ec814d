import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";
import { described, integer, shownDigest, timestamp, titled } from "../../base/schema.ts";
import { type Content, content, shownContent } from "../../wire/content.ts";
import { openRelease } from "../../wire/release.ts";
import { operation, operatorOf } from "../operation/mod.ts";
import { type StoreDeps, storeRelease } from "./store.ts";
import type { Releases, StoredRelease } from "./view.ts";

export interface ReleaseDeps extends StoreDeps {
  releases: Releases;
  /** Public key of the account of the peels, which a release names. */
  fleet: string;
  /** What is published. */
  files: {
    /** What each environment has now. @throws SvcError `unavailable` before the first publication */
    environments(): Promise<readonly Content[]>;
  };
}

const maxReleaseBytes = 4_096;

const shownRelease = titled(
  "Release",
  v.object({
    environment: v.string(),
    snapshot: shownDigest("Digest of the files"),
    version: described(integer, "Rises with each release of the environment"),
    released_at: timestamp,
    operator: described(v.string(), "Who signed it"),
    key: described(v.string(), "Public key that signed it"),
    release: described(v.string(), "The signed release, base64 of its MessagePack"),
  }),
);

const releasedEnvironment = titled(
  "ReleasedEnvironment",
  v.object({
    environment: v.string(),
    newest: v.exactOptional(described(shownRelease, "The newest release; absent before the first")),
    before: v.exactOptional(described(shownRelease, "The one before, which a rollback signs again")),
    next_version: described(integer, "The version that the next release must have"),
    content: v.exactOptional(
      described(shownContent, "What the masters publish; absent when they have no such files"),
    ),
  }),
);

export const listReleases = operation({
  name: "states.releases",
  kind: "read",
  summary: "List what operators released of the state files",
  scope: { kind: "states", action: "read" },
  output: v.object({
    fleet: described(v.string(), "Public key of the account of the peels, which a release names"),
    environments: v.array(releasedEnvironment),
  }),
  async run({ releases, fleet, files }: ReleaseDeps) {
    await releases.caughtUp();
    const published = new Map((await files.environments()).map((one) => [one.environment, one]));
    const names = new Set([...published.keys(), ...releases.environments()]);
    const environments = [...names].sort(baseFirst).map((environment) => {
      const [newest, before, found] = [
        releases.newest(environment),
        releases.before(environment),
        published.get(environment),
      ];
      return {
        environment,
        ...defined({ newest: newest && show(newest), before: before && show(before) }),
        next_version: releases.nextVersion(environment),
        ...defined({ content: found && content.show(found) }),
      };
    });
    return { fleet, environments };
  },
});

export const releaseStates = operation({
  name: "states.release",
  kind: "change",
  summary: "Release state files",
  description:
    "An operator signs the release; masters only verify and store it. Its version must be the next one of its environment.",
  input: v.strictObject({
    release: described(
      v.custom<Uint8Array>(
        (value) => value instanceof Uint8Array && value.length <= maxReleaseBytes,
        `must be at most ${maxReleaseBytes} bytes`,
      ),
      "The signed release",
    ),
  }),
  output: v.object({ release: shownRelease }),
  touches: ({ release }) => {
    const environment = attempt(() => openRelease(release).environment);
    return environment === undefined ? { fleet: true } : { environment };
  },
  async run(deps: ReleaseDeps, { release: bytes }, call) {
    const release = await storeRelease(deps, bytes);
    const { environment, version, snapshot, operator: signer } = release;
    call.log.info("state files released", {
      ...{ environment, version, snapshot, signed_by: signer },
      operator: operatorOf(call),
    });
    return { release: show({ release, bytes }) };
  },
});

const baseFirst = (one: string, other: string): number =>
  one === other ? 0 : one === "base" ? -1 : other === "base" ? 1 : one < other ? -1 : 1;

function show({ release, bytes }: StoredRelease): v.InferOutput<typeof shownRelease> {
  const { environment, snapshot, version, releasedAt, operator, key } = release;
  return {
    environment,
    snapshot: Buffer.from(snapshot, "hex"),
    version,
    released_at: rfc3339(releasedAt),
    operator,
    key,
    release: encodeBase64(bytes),
  };
}
