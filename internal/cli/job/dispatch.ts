import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { readCall } from "../../host/modules/mod.ts";
import { type Cli, Exit, type RestWords } from "../../program/command-line/mod.ts";
import { contentWords, releasedWords } from "../../wire/content-words.ts";
import { printNobody } from "../nobody.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { approvalsFor, sayWhether } from "../roles/may-do.ts";
import { type BatchSize, batchesOf } from "./batch.ts";
import { runBatches } from "./batches.ts";
import { confirmMany } from "./confirm-many.ts";
import { type Dispatched, jobSize } from "./counts.ts";
import { printEnd, watchJob } from "./follow.ts";
import { requestFrozen } from "./frozen.ts";
import { untilInterrupted } from "./interrupt.ts";
import { explainOtherFiles, readOwnTree, withOwnTree } from "./own-tree.ts";
import { printPreview } from "./preview.ts";
import { type ResolvedPeel, resolvePeels } from "./resolve.ts";
import { createResults, type ResultOptions } from "./results.ts";
import { questionOf, type Work } from "./work.ts";

export interface RunRequest {
  /** What to run, or the job to run again. */
  what: { target: string; function: string; words: RestWords } | { again: string };
  /** Directories with the state files that run, also when nobody released them. */
  trees: readonly string[];
  /** A duration: `60s`. Absent for the usual one, or that of the job that is run again. */
  timeout?: string;
  batch?: BatchSize;
  batchWaitMs: number;
  mode: "follow" | "async" | "preview";
  /** Peels that are not connected: whether they are waited for, and whether they change the exit code. */
  offline: { wait?: boolean; ignore?: boolean };
  show: ResultOptions;
  /** Whether the person has agreed in advance. */
  isConfirmed: boolean;
}

const usualTimeout = "60s";

/**
 * Dispatches a job, or one per batch, and prints what became of it.
 *
 * @throws SvcError `usage` for a function or arguments that do not exist, what the masters answer, or
 *   `unavailable` when none does
 * @throws Exit 1 when a peel did not end well, 3 when all that answered did and others are pending, 130 after Ctrl-C
 */
export function runJob(wanted: RunRequest, cli: Cli): Promise<void> {
  return printNobody(cli, () => run(wanted, cli));
}

async function run(wanted: RunRequest, cli: Cli): Promise<void> {
  const read = workOf(wanted, cli);
  const tree = await readOwnTree(wanted.trees, cli);
  await withBus(cli, async (bus) => {
    const follow = wanted.show.follow === true ? { follow: true } : {};
    const work = withOwnTree({ ...(await read(bus)), ...follow }, tree, bus);
    const sayHint = hintOnce(cli);
    const dispatch = async (bus: Bus, work: Work) => {
      const job = await dispatchWork(bus, work).catch((thrown) => {
        throw explainOtherFiles(thrown, tree);
      });
      sayHint(job);
      return job;
    };
    if (wanted.mode === "preview") {
      await printPreview(await peelsOf(bus, work), wanted.batch, cli);
      if ((await sayWhether(bus, questionOf(work), cli)) === false) throw new Exit(1);
      return;
    }
    await confirmMany(cli, {
      ...{ does: `Run ${work.function}`, isConfirmed: wanted.isConfirmed },
      count: async () => (await peelsOf(bus, work)).length,
    });
    if (wanted.mode === "async") {
      const job = await dispatch(bus, work);
      const { jid, targets, content, released } = job;
      await cli.print({ jid, targets, status: "running", ...defined({ content, released }) }, () => jid);
      sayFiles(job, cli);
      return cli.say(`${jobSize(job)}; watch with svc job watch ${job.jid}`);
    }
    const results = createResults(cli, wanted.show);
    const { wait = false, ignore = false } = wanted.offline;
    const watch = (jid: string, signal: AbortSignal) =>
      watchJob(bus, results, jid, cli, signal, { isKnown: true, ...(wait ? {} : { until: "due" }) });
    if (wanted.batch === undefined) {
      const job = await dispatch(bus, work);
      cli.say(`${job.jid} on ${jobSize(job)}`);
      sayFiles(job, cli);
      const end = await untilInterrupted(cli, (signal) => watch(job.jid, signal));
      return printEnd(results, end, cli, { ignoreOffline: ignore });
    }
    if ((await approvalsFor(bus, questionOf(work))) > 0) {
      throw new SvcError(
        "usage",
        "--batch: each batch is a request of its own, and your role needs the agreement of others for each: use svc rollout start, which waits once",
      );
    }
    const peels = (await peelsOf(bus, work)).map(({ peel_id }) => peel_id);
    const { target: _, metadata, ...same } = work;
    await runBatches(
      {
        dispatch: (targets, batch) => dispatch(bus, { ...same, targets, metadata: { ...metadata, batch } }),
        ...{ watch, results },
      },
      { batches: batchesOf(peels, wanted.batch), waitMs: wanted.batchWaitMs, ignoreOffline: ignore },
      cli,
    );
  });
}

/** Says where to see what returns hide, for all batches together. */
function hintOnce(cli: Cli): (job: Dispatched) => void {
  let isSaid = false;
  return ({ hint }) => {
    if (hint === undefined || isSaid) return;
    isSaid = true;
    cli.say(hint);
  };
}

function sayFiles({ content, released }: Dispatched, cli: Cli): void {
  if (content !== undefined) cli.say(`files of ${contentWords(content)}`);
  if (released !== undefined) cli.say(`files ${releasedWords(released)}`);
}

/** A mistake in the words is reported before anything is sent to the bus. @returns what reads the rest from there */
function workOf({ what, timeout, isConfirmed }: RunRequest, cli: Cli): (bus: Bus) => Promise<Work> {
  if ("again" in what) {
    return async (bus) => {
      const { readAgain } = await import("./again.ts");
      return readAgain(bus, what.again, cli, { timeout, isConfirmed });
    };
  }
  const call = readCall(what.function, what.words);
  return async () => ({ ...call, timeout: timeout ?? usualTimeout, target: what.target });
}

function peelsOf(bus: Bus, { target = "", targets = [] }: Work): Promise<ResolvedPeel[]> {
  return resolvePeels(bus, targets.length > 0 ? targets : target);
}

function dispatchWork(bus: Bus, work: Work): Promise<Dispatched> {
  return requestFrozen(bus, work, questionOf(work), (frozen) =>
    request(bus, jobOperations.createJob, frozen),
  );
}
