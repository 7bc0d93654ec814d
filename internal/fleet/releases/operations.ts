import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { isEnvironmentName } from "../../base/names/names.ts";
import { described, integer, shownDigest, timestamp, titled } from "../../base/schema.ts";
import { type Budget, comparisonBudget } from "../../tree/comparison/mod.ts";
import { type Content, content as contentForm, shownContent } from "../../wire/content.ts";
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
    /**
     * What each environment has now and what waits for a release, or one of them at a commit.
     *
     * @throws SvcError `not_found` for an unknown commit, `unavailable` before the first publication
     */
    list(wanted: { environment?: string; commit?: string }): Promise<readonly PublishedFiles[]>;
    /** How many files differ; `undefined` when that takes too long. */
    countChanges(
      of: { before: string | undefined; after: string },
      budget: Budget,
    ): Promise<v.InferOutput<typeof changes> | undefined>;
  };
}

interface PublishedFiles {
  environment: string;
  content?: Content;
  candidate?: { content: Content; since: number };
  sources: readonly { remote: string; ref?: string }[];
  /** The commit of earlier files that are still published. */
  commitOf(snapshot: string): string | undefined;
}

export { listFiles } from "./list-files.ts";

const maxReleaseBytes = 4_096;
const environmentName = v.pipe(v.string(), v.check(isEnvironmentName, "must be the name of an environment"));

const shownRelease = titled(
  "Release",
  v.object({
    environment: v.string(),
    snapshot: shownDigest("Digest of the files"),
    version: described(integer, "Rises with each release of the environment"),
    released_at: timestamp,
    operator: described(v.string(), "Who signed it"),
    key: described(v.string(), "Public key that signed it"),
    commit: v.exactOptional(
      described(v.string(), "Commit of the files, as masters say; absent where they no longer publish them"),
    ),
    release: described(v.string(), "The signed release, base64 of its MessagePack"),
  }),
);

const changes = v.object({ added: integer, changed: integer, removed: integer });

const shownCandidate = titled(
  "Candidate",
  v.object({
    content: shownContent,
    since: described(timestamp, "When masters found these files"),
    changes: v.exactOptional(
      described(
        changes,
        "How many files differ from those in force; absent where comparing them takes too long",
      ),
    ),
  }),
);

const releasedEnvironment = titled(
  "ReleasedEnvironment",
  v.object({
    environment: v.string(),
    newest: v.exactOptional(described(shownRelease, "The newest release; absent before the first")),
    before: v.exactOptional(described(shownRelease, "The one before, which a rollback signs again")),
    next_version: described(integer, "The version that the next release must have"),
    sources: v.exactOptional(
      described(
        v.array(v.object({ remote: v.string(), ref: v.exactOptional(v.string()) })),
        "Where the newest files come from: `states_dir`, or URLs of repositories",
      ),
    ),
    content: v.exactOptional(
      described(shownContent, "What is in force, or the files of `commit`; absent when nothing is in force"),
    ),
    candidate: v.exactOptional(
      described(
        shownCandidate,
        "The newest files that wait for a release; only with `states.require_release`",
      ),
    ),
  }),
);

export const listReleases = operation({
  name: "states.releases",
  kind: "read",
  summary: "List what operators released of the state files",
  scope: { kind: "states", action: "read" },
  input: v.strictObject({
    environment: v.optional(described(environmentName, "Only this environment")),
    commit: v.optional(
      described(
        v.pipe(v.string(), v.regex(/^[0-9a-f]{4,64}$/, "must be the first digits of a commit")),
        "With `environment`: describe the files of this commit in place of the newest ones",
      ),
    ),
  }),
  output: v.object({
    fleet: described(v.string(), "Public key of the account of the peels, which a release names"),
    environments: v.array(releasedEnvironment),
  }),
  async run({ releases, fleet, files }: ReleaseDeps, { environment, commit }, { clock }) {
    if (commit !== undefined && environment === undefined) {
      throw new SvcError("bad_request", "commit: name the environment as well");
    }
    await releases.caughtUp();
    const listed = await files.list(defined({ environment, commit }));
    const published = new Map(listed.map((one) => [one.environment, one]));
    const names = new Set([...published.keys(), ...releases.environments()]);
    const wanted = [...names].filter((name) => environment === undefined || name === environment);
    const budget = comparisonBudget(clock);
    const environments = [];
    for (const name of wanted.sort(baseFirst)) {
      const found = published.get(name);
      environments.push({
        ...standingOf(releases, name, found),
        ...defined({ candidate: found && (await showCandidate(files, found, budget)) }),
      });
    }
    return { fleet, environments };
  },
});

async function showCandidate(
  { countChanges }: Pick<ReleaseDeps["files"], "countChanges">,
  { content, candidate }: PublishedFiles,
  budget: Budget,
): Promise<v.InferOutput<typeof shownCandidate> | undefined> {
  if (candidate === undefined) return undefined;
  const compared = { before: content?.snapshot, after: candidate.content.snapshot };
  return {
    ...{ content: contentForm.show(candidate.content), since: rfc3339(candidate.since) },
    ...defined({ changes: await countChanges(compared, budget) }),
  };
}

function standingOf(
  releases: Releases,
  environment: string,
  found: PublishedFiles | undefined,
): v.InferOutput<typeof releasedEnvironment> {
  const shown = (one: StoredRelease | undefined) => one && show(one, found?.commitOf(one.release.snapshot));
  return {
    environment,
    ...defined({ newest: shown(releases.newest(environment)), before: shown(releases.before(environment)) }),
    next_version: releases.nextVersion(environment),
    ...defined({
      sources: found?.sources.map((one) => ({ ...one })),
      content: found?.content && contentForm.show(found.content),
    }),
  };
}

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

function show({ release, bytes }: StoredRelease, commit?: string): v.InferOutput<typeof shownRelease> {
  const { environment, snapshot, version, releasedAt, operator, key } = release;
  return {
    environment,
    snapshot: Buffer.from(snapshot, "hex"),
    version,
    released_at: rfc3339(releasedAt),
    operator,
    key,
    ...defined({ commit }),
    release: encodeBase64(bytes),
  };
}
