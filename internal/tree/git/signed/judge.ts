import { SvcError } from "../../../base/errors.ts";
import type { CommitObject } from "./commit.ts";

/** How much history is fetched at first, and then while what is in force is not found in it. */
const depths = [32, 1_000, 10_000];
const maxCommits = 10_000;

/** What a judgement looks at. */
export interface Evidence {
  /** @returns `undefined` when this host does not have the commit. @throws SvcError `unavailable` */
  commit(id: string): Promise<CommitObject | undefined>;
  /** Whether an object has a good signature of a listed key. @throws SvcError `unavailable` */
  isSigned(kind: "commit" | "tag", id: string): Promise<boolean>;
  /** Whether an operator released the files of a commit. @throws SvcError `too_large`, `unavailable` */
  isReleased(commit: string): Promise<boolean>;
  /** Fetches more of the history. */
  deepen(depth: number): Promise<void>;
}

/** A ref with a new object. */
export interface Moved {
  /** Its name for people, such as `main`. */
  name: string;
  isTag: boolean;
  /** What it points to. */
  object: string;
  commit: string;
  /** The commit of it that is in force. */
  inForce: string | undefined;
}

/** How much history the first fetch of a ref needs. */
export function firstDepth(inForce: string | undefined): number {
  // With its parents, because a merge may count as one of them.
  return inForce === undefined ? 2 : (depths[0] ?? 2);
}

/**
 * Judges the newest object of a ref whose commits need a signature.
 *
 * @returns the commit that counts: its own, or the parent that a merge counts as
 * @throws SvcError `forbidden` with the reason, `unavailable`
 */
export async function judgeMoved(moved: Moved, evidence: Evidence): Promise<string> {
  const { commit, inForce } = moved;
  if (commit === inForce) return commit;
  const judged = moved.isTag ? await judgeTag(moved, evidence) : await judgeBranch(moved, evidence);
  if ("counts" in judged) return judged.counts;
  if (await evidence.isReleased(commit)) return commit;
  throw new SvcError("forbidden", judged.refused);
}

type Judgement = { counts: string } | { refused: string };

async function judgeTag(moved: Moved, evidence: Evidence): Promise<Judgement> {
  const { name, object, commit, inForce } = moved;
  if (inForce !== undefined) {
    return {
      refused: `the tag was moved from ${short(inForce)} to ${short(commit)}: move it back, or release it`,
    };
  }
  return (await isSignedTag(moved, evidence)) ? { counts: commit } : unsigned(name, object);
}

async function judgeBranch(moved: Moved, evidence: Evidence): Promise<Judgement> {
  const { name, commit, inForce } = moved;
  const counts = await signedCommit(moved, evidence);
  if (counts === undefined) return unsigned(name, commit);
  if (inForce === undefined || (await descends(counts, inForce, evidence))) return { counts };
  const bound = `in force within ${maxCommits.toLocaleString("en")} commits`;
  return {
    refused: `${name} is at ${short(commit)}, which does not descend from ${short(inForce)} ${bound}: move it back, or release it`,
  };
}

const unsigned = (name: string, object: string): Judgement => ({
  refused: `${name} is at ${short(object)}, signed by no listed key: sign it, or release it`,
});

/** An annotated tag needs a signature of its own; a lightweight one is as good as its commit. */
function isSignedTag({ object, commit }: Moved, evidence: Evidence): Promise<boolean> {
  return object === commit ? isSignedCommit(commit, evidence) : evidence.isSigned("tag", object);
}

/**
 * The commit itself, or the parent that a merge without a signature adds nothing to: a forge that merges has no key of
 * a person.
 */
async function signedCommit({ commit, inForce }: Moved, evidence: Evidence): Promise<string | undefined> {
  if (await isSignedCommit(commit, evidence)) return commit;
  const merge = await evidence.commit(commit);
  if (merge === undefined || merge.parents.length < 2) return undefined;
  for (const id of merge.parents) {
    const parent = await evidence.commit(id);
    if (parent?.tree !== merge.tree) continue;
    if (id === inForce || (await isSignedCommit(id, evidence))) return id;
  }
  return undefined;
}

async function isSignedCommit(id: string, evidence: Evidence): Promise<boolean> {
  const found = await evidence.commit(id);
  return found?.hasSignature === true && evidence.isSigned("commit", id);
}

/** Whether a commit descends from another. Of the history no more is fetched than it takes to find out. */
async function descends(commit: string, from: string, evidence: Evidence): Promise<boolean> {
  for (const depth of [undefined, ...depths.slice(1)]) {
    if (depth !== undefined) await evidence.deepen(depth);
    const { isFound, isWhole } = await searchHistory(commit, from, evidence);
    if (isFound || isWhole) return isFound;
  }
  return false;
}

/** Whether a commit is in the history of another, as far as this host has it. */
async function searchHistory(
  commit: string,
  wanted: string,
  evidence: Evidence,
): Promise<{ isFound: boolean; isWhole: boolean }> {
  const seen = new Set([commit]);
  let isWhole = true;
  // A set continues with what is added while it is walked: nearer commits come first.
  for (const id of seen) {
    if (id === wanted) return { isFound: true, isWhole };
    const found = await evidence.commit(id);
    if (found === undefined) isWhole = false;
    for (const parent of found?.parents ?? [])
      if (seen.size < maxCommits || parent === wanted) seen.add(parent);
  }
  return { isFound: false, isWhole: isWhole || seen.size >= maxCommits };
}

function short(id: string): string {
  return id.slice(0, 12);
}
