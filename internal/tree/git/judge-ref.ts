import { SvcError } from "../../base/errors.ts";
import type { CatFile } from "./cat-file.ts";
import { type FetchedRef, fetchRef } from "./fetch-ref.ts";
import type { Local } from "./local.ts";
import { readTree, type Tree } from "./read-tree.ts";
import { type ChosenRef, isTag } from "./refs.ts";
import { type CommitObject, parseCommit } from "./signed/commit.ts";
import { firstDepth, judgeMoved } from "./signed/judge.ts";
import { isNewer, noteAdopted, type Released } from "./signed/released.ts";
import { isSigned, type Signers } from "./signed/signers.ts";

interface Found extends Tree {
  commit: string;
}

/** What a ref may move from, and with what. */
export interface Standing {
  /** The commit of the ref that is in force. */
  inForce: string | undefined;
  /** The newest release of its environment. */
  released: Released | undefined;
}

/**
 * Returns the content of a ref, which is fetched and judged when it changed.
 *
 * @throws SvcError why it is not used
 */
export async function adopt(local: Local, ref: ChosenRef, standing: Standing): Promise<Found> {
  const { inForce, released } = standing;
  const { kept, accepted, refused, remote, signers } = local;
  const last = kept.refs.get(ref.name);
  const isJudged =
    remote.signers === undefined ||
    last?.commit === inForce ||
    (accepted.has(ref.name) && accepted.get(ref.name) === signers?.digest);
  try {
    if (last?.object === ref.object && isJudged) {
      accepted.set(ref.name, signers?.digest);
      const tree = await readCommit(local, last.commit);
      refused.delete(ref.name);
      return { ...tree, commit: last.commit };
    }
    assertNotRefused(local, ref, released);
    const found = (await shared(local, ref)) ?? (await fetchAndJudge(local, ref, standing));
    kept.refs.set(ref.name, { object: found.object, commit: found.commit });
    noteAdopted(kept, ref.name, found.commit, released);
    accepted.set(ref.name, signers?.digest);
    refused.delete(ref.name);
    return found;
  } catch (thrown) {
    noteRefusal(local, ref, { error: thrown, released });
    throw thrown;
  }
}

/** Returns the content of a ref only if it did not change. @throws SvcError with the reason */
export async function refuseAgain(local: Local, ref: ChosenRef, reason: string): Promise<Found> {
  const last = local.kept.refs.get(ref.name);
  const tree = last?.object === ref.object ? local.trees.get(last.commit) : undefined;
  if (last === undefined || tree === undefined || !local.accepted.has(ref.name)) {
    throw new SvcError("unavailable", reason);
  }
  return { ...tree, commit: last.commit };
}

/** @throws SvcError `too_large`, `unavailable` */
export async function readCommit(local: Local, commit: string): Promise<Tree> {
  const known = local.trees.get(commit);
  if (known !== undefined) return known;
  const tree = await readTree(local, commit);
  local.trees.set(commit, tree);
  return tree;
}

/** What another ref at the same object has already; signatures are judged for each ref. */
async function shared(
  local: Local,
  { object }: ChosenRef,
): Promise<(Found & { object: string }) | undefined> {
  if (local.remote.signers !== undefined) return undefined;
  const same = [...local.kept.refs].find(
    ([name, kept]) => kept.object === object && local.accepted.has(name) && local.trees.has(kept.commit),
  );
  if (same === undefined) return undefined;
  const [, kept] = same;
  return { ...(await readCommit(local, kept.commit)), ...kept };
}

async function fetchAndJudge(
  local: Local,
  ref: ChosenRef,
  standing: Standing,
): Promise<Found & { object: string }> {
  const { remote, signers, kept } = local;
  if (signers?.problem !== undefined)
    throw new SvcError("forbidden", `nothing new counts: ${signers.problem}`);
  const depth = remote.signers === undefined ? 1 : firstDepth(standing.inForce);
  const fetched = await fetchRef(local, { ref: ref.name, depth, kept: kept.refs.get(ref.name)?.object });
  try {
    const commit =
      signers === undefined ? fetched.commit : await judge(local, { ref, fetched, signers }, standing);
    return { ...(await readCommit(local, commit)), commit, object: fetched.object };
  } catch (thrown) {
    await fetched.undo();
    throw thrown;
  }
}

function judge(
  local: Local,
  { ref, fetched, signers }: Judged,
  { inForce, released }: Standing,
): Promise<string> {
  const { git, contents, repository, sshProgram, kept, clock } = local;
  const known = new Map<string, CommitObject>();
  // Between the listing and the fetch the ref may have moved on.
  const at = kept.seen.get(fetched.object) ?? clock.now();
  const moved = {
    name: ref.name.replace(/^refs\/(?:heads|tags)\//, ""),
    isTag: isTag(ref.name),
    object: fetched.object,
    commit: fetched.commit,
    inForce,
  };
  return judgeMoved(moved, {
    async commit(id) {
      const found = known.get(id) ?? commitIn(await contents.find(id));
      if (found !== undefined) known.set(id, found);
      return found;
    },
    isSigned: (kind, object) =>
      isSigned(git, { repository, signers, program: sshProgram }, { kind, object, at }),
    async isReleased(commit) {
      if (released === undefined || !isNewer(kept, released, { ref: ref.name, inForce })) return false;
      return released.has((await readCommit(local, commit)).files);
    },
    deepen: fetched.deepen,
  });
}

interface Judged {
  ref: ChosenRef;
  fetched: FetchedRef;
  signers: Signers;
}

function commitIn(object: Awaited<ReturnType<CatFile["find"]>>): CommitObject | undefined {
  return object?.type === "commit" ? parseCommit(object.id, object.data) : undefined;
}

/** What was refused for good is not fetched again until the ref, who may sign, or what is released changes. */
function assertNotRefused(
  { refused, signers }: Local,
  { name, object }: ChosenRef,
  released: Released | undefined,
): void {
  const before = refused.get(name);
  if (before === undefined || before.object !== object) return;
  if (before.signers !== signers?.digest || before.released !== released) return;
  const { error } = before;
  if (error instanceof SvcError && (error.kind === "too_large" || error.kind === "forbidden")) throw error;
}

function noteRefusal(
  { refused, signers }: Local,
  { name, object }: ChosenRef,
  { error, released }: { error: unknown; released: Released | undefined },
): void {
  const times = (refused.get(name)?.times ?? 0) + 1;
  refused.set(name, { object, signers: signers?.digest, released, error, times });
}
