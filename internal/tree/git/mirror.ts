import { existsSync } from "node:fs";
import { join } from "node:path";
import { describeError, SvcError } from "../../base/errors.ts";
import { makeDirectory } from "../../base/files/file.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Contents } from "../files/mod.ts";
import { openCatFile } from "./cat-file.ts";
import { packsIn, removeTemporary } from "./fetch-ref.ts";
import { shownUrl } from "./git.ts";
import { adopt, readCommit, refuseAgain } from "./judge-ref.ts";
import { readKept, slotOf, writeKept } from "./kept.ts";
import type { Local, MirrorOptions, Remote } from "./local.ts";
import { baseRefOf, branchesIn, type ChosenRef, chooseRefs, parseRefs, type Ref } from "./refs.ts";
import { noteReleases, type Released } from "./signed/released.ts";
import { readSigners } from "./signed/signers.ts";

/** Memory for the names of the refs of a remote. */
const listingBytes = 512 * 1024 * 1024;
/** With more packs they are made one, without what is no longer used. */
const maxPacks = 50;

/** An environment of a repository. */
export interface GitEnvironment {
  ref: string;
  commit: string;
  files: Contents;
}

/** A ref whose newest content is not used. */
export interface RefProblem {
  ref: string;
  environment: string;
  reason: string;
  /** Whether its last good content stays. */
  isKept: boolean;
}

export interface MirrorState {
  environments: ReadonlyMap<string, GitEnvironment>;
  problems: readonly RefProblem[];
  /** Refs and files that are omitted. */
  warnings: readonly string[];
  /** Whether this is everything that the remote has; a set names the environments that were read already. */
  confirmed: boolean | ReadonlySet<string>;
}

export interface SyncOptions {
  /** The commit of a ref that is in force for an environment. */
  inForce(environment: string, ref: string): string | undefined;
  /** The newest release of an environment, which lets a ref whose commits need signatures move without. */
  released(environment: string): Released | undefined;
  /** Called with what is known so far: `base` must not wait for other refs. */
  report(state: MirrorState): void;
  /** Refs other than `base` are not fetched any more when a sync has taken this long. */
  othersMs: number;
}

/** A local mirror of a repository: the last good commit of each ref that is an environment. */
export interface Mirror {
  /** The URL without credentials. */
  readonly remote: string;
  /**
   * Lists the branches and tags of the remote, and fetches changed ones, one by one.
   *
   * @throws SvcError `unavailable` when the remote does not answer; the mirror is not changed
   */
  sync(options: SyncOptions): Promise<MirrorState>;
  /** Returns the previously fetched state, without contacting the remote. @throws SvcError `unavailable` */
  load(options: Pick<SyncOptions, "inForce">): Promise<MirrorState>;
  stop(): Promise<void>;
}

export function openMirror(remote: Remote, options: MirrorOptions): Mirror {
  const { git, dir, clock } = options;
  const repository = join(dir, sha256Hex(remote.url).slice(0, 32));
  const local: Local = {
    ...options,
    remote,
    url: remote.url,
    repository,
    contents: openCatFile(git, repository, clock),
    hashes: new Map(),
    trees: new Map(),
    kept: readKept(repository),
    accepted: new Map(),
    refused: new Map(),
    signers: undefined,
  };
  const isPrepared = () => existsSync(join(repository, "HEAD"));
  return {
    remote: shownUrl(remote.url),
    async sync(sync) {
      makeDirectory(dir, 0o700);
      if (!isPrepared()) await git.run(dir, ["init", "--quiet", "--bare", "--template=", repository]);
      removeTemporary(repository);
      const listed = parseRefs(
        await git.run(repository, ["ls-remote", "--heads", "--tags", "--", remote.url], {
          memoryBytes: listingBytes,
        }),
      );
      if (listed.length === 0) throw new SvcError("unavailable", "the repository has no branches or tags");
      if (remote.signers !== undefined) local.signers = readSigners(remote.signers, repository);
      return syncRefs(local, listed, sync);
    },
    async load({ inForce }) {
      const round = startRound();
      if (!isPrepared()) return round.state(false);
      const kept = [...local.kept.refs].map(([name, { object }]) => ({ name, object }));
      for (const ref of chooseRefs(kept, remote, round.warnings)) {
        const { commit } = local.kept.refs.get(ref.name) ?? {};
        const isInForce = inForce(ref.environment, ref.name) === commit;
        if (commit === undefined || (remote.signers !== undefined && !isInForce)) continue;
        round.give(ref, { commit, ...(await readCommit(local, commit)) });
      }
      return round.state(false);
    },
    stop: () => local.contents.stop(),
  };
}

/** Reads every ref that is an environment: one that cannot be read keeps its last good content, and others continue. */
async function syncRefs(local: Local, listed: readonly Ref[], options: SyncOptions): Promise<MirrorState> {
  const { remote, clock } = local;
  const { inForce, report, othersMs } = options;
  const round = startRound();
  const all = chooseRefs(listed, remote, round.warnings);
  const chosen = all.slice(0, local.maxEnvironments + Number(all[0]?.environment === "base"));
  noteFirstSight(local, chosen);
  const standingOf = ({ environment, name }: ChosenRef) => ({
    inForce: inForce(environment, name),
    released: remote.signers === undefined ? undefined : options.released(environment),
  });
  noteReleases(
    local.kept,
    chosen.map((ref) => ({ ref: ref.name, ...standingOf(ref) })),
  );
  const base = baseRefOf(remote);
  const isBaseThere = listed.some(({ name }) => name === base);
  await forget(local, new Set([...chosen.map(({ name }) => name), ...(isBaseThere ? [] : [base])]));
  if (!isBaseThere) await withoutBase(local, listed, { round, inForce });
  const begun = clock.monotonic();
  let reported = begun;
  for (const ref of inOrder(local, chosen)) {
    const isLate = ref.environment !== "base" && clock.monotonic() - begun > othersMs;
    const standing = standingOf(ref);
    try {
      const found = isLate ? await refuseAgain(local, ref, lateReason) : await adopt(local, ref, standing);
      round.give(ref, found);
    } catch (thrown) {
      await round.hold(local, { ref, reason: describeError(thrown), inForce: standing.inForce });
    }
    const now = clock.monotonic();
    if (ref.environment !== "base" && now - reported < reportEveryMs) continue;
    reported = now;
    report(round.state(round.read));
  }
  // After those that are broken: a message names the first ones.
  for (const { name, environment } of all.slice(chosen.length)) {
    const reason = `left out: there are more than ${local.maxEnvironments} environments (gitfs.max_environments)`;
    round.problems.push({ ref: name, environment, reason, isKept: false });
  }
  await tidy(local, round.commits);
  return round.state(true);
}

const reportEveryMs = 2_000;
const lateReason = "not read yet, because other branches and tags take too long";

/** `base` first; then refs that could be read before, so that they do not wait for others. */
function inOrder({ refused }: Local, chosen: readonly ChosenRef[]): ChosenRef[] {
  const rank = ({ environment, name }: ChosenRef) =>
    environment === "base" ? -1 : (refused.get(name)?.times ?? 0);
  return chosen.toSorted((a, b) => rank(a) - rank(b));
}

/** A base branch that is gone keeps its last content; one that was never there gives none. */
async function withoutBase(
  local: Local,
  listed: readonly Ref[],
  { round, inForce }: { round: Round; inForce: SyncOptions["inForce"] },
): Promise<void> {
  const name = baseRefOf(local.remote);
  const used = inForce("base", name);
  const ref = { name, environment: "base", object: local.kept.refs.get(name)?.object ?? "" };
  if (used === undefined && ref.object === "") {
    const reason = `there is no branch ${local.remote.base} (gitfs.base), so it adds nothing to base; ${branchesIn(listed)}`;
    round.problems.push({ ref: name, environment: "base", reason, isKept: false });
    return;
  }
  const reason = `the branch is gone; what it had last stays in force until it is back; ${branchesIn(listed)}`;
  await round.hold(local, { ref, reason, inForce: used });
}

function noteFirstSight({ kept, clock }: Local, chosen: readonly ChosenRef[]): void {
  const now = clock.now();
  kept.seen = new Map(chosen.map(({ object }) => [object, kept.seen.get(object) ?? now]));
}

/** Forgets refs that are not environments any more. */
async function forget({ git, repository, kept, refused, accepted }: Local, stays: ReadonlySet<string>) {
  for (const name of refused.keys()) if (!stays.has(name)) refused.delete(name);
  const gone = [...kept.refs.keys()].filter((name) => !stays.has(name));
  if (gone.length === 0) return;
  const lines = gone.map((name) => `delete ${slotOf(name)}\n`).join("");
  await git.run(repository, ["update-ref", "--stdin"], { stdin: lines });
  for (const name of gone) {
    kept.refs.delete(name);
    accepted.delete(name);
  }
}

/** Remembers what was read, and removes what nothing uses. */
async function tidy(local: Local, commits: ReadonlySet<string>): Promise<void> {
  const { git, repository, kept, contents } = local;
  for (const commit of local.trees.keys()) if (!commits.has(commit)) local.trees.delete(commit);
  const used = new Set([...local.trees.values()].flatMap(({ objects }) => objects));
  for (const object of local.hashes.keys()) if (!used.has(object)) local.hashes.delete(object);
  writeKept(repository, kept);
  if (packsIn(repository) <= maxPacks) return;
  // Refs at one object share what was fetched for one of them, which may have moved on.
  const lines = [...kept.refs].map(([name, { object }]) => `update ${slotOf(name)} ${object}\n`).join("");
  await git.run(repository, ["update-ref", "--stdin"], { stdin: lines });
  await git.run(repository, ["gc", "--quiet", "--prune=now"]);
  await contents.restart();
}

type Round = ReturnType<typeof startRound>;

/** What one sync found. */
function startRound() {
  const environments = new Map<string, GitEnvironment>();
  const problems: RefProblem[] = [];
  const warnings: string[] = [];
  const read = new Set<string>();
  const commits = new Set<string>();
  const give = (
    { name, environment }: Pick<ChosenRef, "name" | "environment">,
    found: { commit: string; files: Contents; warnings: readonly string[] },
  ) => {
    const { commit, files } = found;
    if (!commits.has(commit)) warnings.push(...found.warnings.map((line) => `${name}: ${line}`));
    commits.add(commit);
    environments.set(environment, { ref: name, commit, files });
    read.add(environment);
  };
  return {
    ...{ problems, warnings, read, commits, give },
    /** Uses the last good content of a ref, unless something newer is in force. */
    async hold(
      local: Local,
      { ref, reason, inForce }: { ref: ChosenRef; reason: string; inForce: string | undefined },
    ): Promise<void> {
      const commit = local.kept.refs.get(ref.name)?.commit;
      const isGood = commit !== undefined && (commit === inForce || local.accepted.has(ref.name));
      const found = isGood ? await readCommit(local, commit).catch(() => undefined) : undefined;
      if (commit !== undefined && found !== undefined) give(ref, { ...found, commit });
      problems.push({ ref: ref.name, environment: ref.environment, reason, isKept: true });
      read.add(ref.environment);
    },
    state: (confirmed: MirrorState["confirmed"]): MirrorState => ({
      environments: new Map(environments),
      problems: [...problems],
      warnings: [...warnings],
      confirmed: typeof confirmed === "boolean" ? confirmed : new Set(confirmed),
    }),
  };
}
