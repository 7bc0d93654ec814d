import { SvcError, toSvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { filesOfCall } from "../../host/modules/mod.ts";
import { type Cli, visible } from "../../program/command-line/mod.ts";
import { shortSnapshot } from "../../wire/content-words.ts";
import { ownFiles } from "../states/proposal.ts";
import type { Work } from "./work.ts";

// Files that nobody released run on a peel that obeys operators only when its operator signs for them. What is signed
// is computed here, from the person's own files: a digest that a master names is never signed so.

/** The state files of directories of the person. */
export interface OwnTree {
  /** Digest, hex. */
  snapshot: string;
  /** The directories, for people. */
  from: string;
}

/** Reads the files before anything is sent. @throws SvcError `bad_request` for changes that are not committed */
export async function readOwnTree(
  trees: readonly string[],
  cli: Pick<Cli, "clock" | "say">,
): Promise<OwnTree | undefined> {
  if (trees.length === 0) return undefined;
  const { snapshot, from, warnings } = await ownFiles({ trees, commit: undefined, clock: cli.clock });
  for (const line of warnings) cli.say(visible(line));
  return { snapshot, from };
}

/**
 * The same work with exactly these files.
 *
 * @throws SvcError `usage` for a function that uses no state files, and where nothing is signed
 */
export function withOwnTree(work: Work, tree: OwnTree | undefined, bus: Pick<Bus, "requester">): Work {
  if (tree === undefined) return work;
  if (filesOfCall(work.function, work.args ?? {}) === undefined) {
    throw new SvcError("usage", `--tree: ${work.function} uses no state files`);
  }
  if (bus.requester === undefined) {
    throw new SvcError("usage", "--tree: you sign for these files, so you need an operator file (svc login)");
  }
  return { ...work, snapshot: Buffer.from(tree.snapshot, "hex"), unreleased: true };
}

/** What to do when masters have other files than the directories. */
export function explainOtherFiles(thrown: unknown, tree: OwnTree | undefined): unknown {
  const { kind, message } = toSvcError(thrown);
  const [, environment, published] = /the state files of (\S+) are (\w+) now, not/.exec(message) ?? [];
  if (tree === undefined || kind !== "conflict" || environment === undefined) return thrown;
  return new SvcError(
    "conflict",
    `${tree.from} has the files ${shortSnapshot(tree.snapshot)}, and masters have ${published} for ${environment}: push or pull, wait for the next sync, or name where they are published (environment=NAME or commit=C)`,
    { cause: thrown },
  );
}
