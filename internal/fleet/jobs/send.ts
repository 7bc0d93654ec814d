import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import { toSiteSubject } from "../../bus/accounts/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { dispatchSubject, siteDispatchSubject, stopSubject } from "../../bus/subjects/subjects.ts";
import { merkleTree, type ProvingTree, partialTree } from "../../identity/merkle/mod.ts";
import type { KeyPair, RecordMac } from "../../identity/mod.ts";
import { type Evidence, encodeCall, encodeStop, type ProvenRelease } from "../../wire/call.ts";
import { type CommandKind, signCommand, signForAll } from "../../wire/command.ts";
import { type SiteTargets, signForSite } from "../../wire/site-command.ts";
import { isGenuineJob, type Job, type SignedRequestOf } from "./records/mod.ts";

/** Sends peels a signed command about a job; it does not wait for their replies. */
export type SendCommand = (kind: CommandKind, job: Job, peels: Iterable<string>) => void;

/** Commands are signed only here. */
export interface Commands {
  /** Sends them over the bus, signed once for all peels; each is invalid after the deadline. */
  send: SendCommand;
  /** The same, with a message for each peel: one that did not get what was sent to its site gets this. */
  resend: SendCommand;
  /** The command for one of the job's targets; `undefined` when no master made that job. */
  sign(kind: CommandKind, job: Job, peel: string): Uint8Array | undefined;
}

/** From this number of peels of one site on, one command is sent for all of them. */
const fewestOfSite = 4;

const subjects: Record<CommandKind, (jid: string, peel: string) => string> = {
  dispatch: dispatchSubject,
  stop: stopSubject,
};

/** The releases of state files. */
export interface ReleasedFiles {
  /** The newest release of exactly these files. */
  releaseOf(files: { environment: string; snapshot: string }): ProvenRelease | undefined;
}

const nothingReleased: ReleasedFiles = { releaseOf: () => undefined };

export interface CommandDeps {
  bus: Pick<Bus, "publish">;
  key: KeyPair;
  mac: RecordMac;
  /** The state files that operators released, for peels that run no others. */
  released?: ReleasedFiles;
  /** The encoded records that prove an operator to a verifier that knows only the administrators. */
  recordsOf?(operator: string): readonly Uint8Array[];
  /** The site whose commands a peel receives. */
  siteOf?(peel: string): string | undefined;
  /** The sites at which a peel may be: the commands for other peels do not get there. */
  sitesOf?(peel: string): readonly string[];
  /** Whether a command is sent again until its return is known to be stored. */
  resends?(): boolean;
  log: Log;
}

interface Signing extends Required<CommandDeps> {
  /** By the record as it was read: a whole fleet may request the same one. */
  readonly judged: Record<CommandKind, WeakMap<Job, boolean>>;
  /** A reconnecting fleet requests one command each, about the same job. */
  readonly trees: WeakMap<Job, ProvingTree>;
}

/**
 * Signs commands only about jobs that masters created: jobs are read from the bus, which must not be able to
 * create commands.
 */
export function createCommands(deps: CommandDeps): Commands {
  const signing: Signing = {
    ...{
      released: nothingReleased,
      recordsOf: () => [],
      siteOf: () => undefined,
      sitesOf: () => [],
      resends: () => false,
    },
    ...deps,
    judged: { dispatch: new WeakMap(), stop: new WeakMap() },
    trees: new WeakMap(),
  };
  return {
    send(kind, job, peels) {
      if (!mayBeSigned(signing, kind, job)) return;
      for (const part of byFiles(kind, job, [...peels])) {
        publish(signing, kind, part.job, sendToSites(signing, kind, part.job, part.peels));
      }
    },
    resend(kind, job, peels) {
      if (!mayBeSigned(signing, kind, job)) return;
      for (const part of byFiles(kind, job, [...peels])) publish(signing, kind, part.job, part.peels);
    },
    sign(kind, job, peel) {
      if (!mayBeSigned(signing, kind, job)) return undefined;
      const [part] = byFiles(kind, job, [peel]);
      return signFor(signing, kind, part?.job ?? job, peel);
    },
  };
}

function mayBeSigned({ mac, log, judged }: Signing, kind: CommandKind, job: Job): boolean {
  const known = judged[kind].get(job);
  if (known !== undefined) return known;
  const genuine = isGenuineJob(mac, kind, job);
  judged[kind].set(job, genuine);
  if (!genuine) log.error("a stored job was changed by others: nothing is sent", { jid: job.jid, kind });
  return genuine;
}

/** Separates the peels that run released files alone, where other files are in force for the rest. */
function byFiles(
  kind: CommandKind,
  job: Job,
  peels: readonly string[],
): { job: Job; peels: readonly string[] }[] {
  const { content, released } = job;
  if (kind === "stop" || content === undefined || released === undefined) return [{ job, peels }];
  const { commit, snapshot } = released;
  const insisting = new Set(released.peels);
  const [others, own] = [
    peels.filter((peel) => !insisting.has(peel)),
    peels.filter((peel) => insisting.has(peel)),
  ];
  return [
    { job, peels: others },
    { job: { ...job, content: { environment: content.environment, commit, snapshot } }, peels: own },
  ].filter((part) => part.peels.length > 0);
}

function treeOf({ trees }: Signing, job: Job): ProvingTree {
  const part = job.request?.part;
  const tree =
    trees.get(job) ?? (part === undefined ? merkleTree(job.targets) : partialTree(part, job.targets));
  trees.set(job, tree);
  return tree;
}

/** The body of a command, without what differs from peel to peel. */
function bodyFor(
  signing: Signing,
  kind: CommandKind,
  job: Job,
): { body: Uint8Array; evidence: Evidence | undefined } {
  const { createdBy, cancelledBy = createdBy } = job;
  if (kind === "stop") {
    const evidence = evidenceOf(signing, job.cancelRequest, cancelledBy);
    return { body: encodeStop(job.cancelRequestId, evidence), evidence };
  }
  const evidence = evidenceOf(signing, job.request, createdBy);
  return { body: callOf(signing, job, evidence), evidence };
}

const callOf = ({ resends, released }: Signing, job: Job, evidence: Evidence | undefined): Uint8Array =>
  encodeCall(
    {
      ...job,
      ...(resends() ? { resends: true as const } : {}),
      ...defined({ release: job.content && released.releaseOf(job.content) }),
    },
    job.requestId,
    evidence,
    job.traceparent,
  );

const evidenceOf = (
  { recordsOf }: Signing,
  signed: SignedRequestOf | undefined,
  operator: string,
): Evidence | undefined =>
  signed && {
    request: signed.envelope,
    records: recordsOf(operator),
    ...defined({
      approvals: signed.approvals?.map(({ operator: by, envelope }) => ({
        request: envelope,
        records: recordsOf(by),
      })),
      step: signed.step,
    }),
  };

/** Signs for one peel. The body of a job that an operator signed has the proof that the peel is one of its targets. */
function signFor(signing: Signing, kind: CommandKind, job: Job, peel: string): Uint8Array {
  const { jid, deadline } = job;
  const { body, evidence } = bodyFor(signing, kind, job);
  const own =
    kind === "stop" || evidence === undefined
      ? body
      : callOf(signing, job, { ...evidence, proof: treeOf(signing, job).proofOf(peel) ?? [] });
  return signCommand({ kind, jid, deadline, body: own, peel }, signing.key);
}

/** Signs once. Where an operator signed for the targets, it is the same tree, so that one proof is for both. */
function signerForAll(signing: Signing, kind: CommandKind, job: Job, peels: readonly string[]) {
  const { jid, deadline } = job;
  const { body, evidence } = bodyFor(signing, kind, job);
  const tree = kind === "dispatch" && evidence !== undefined ? treeOf(signing, job) : merkleTree(peels);
  return signForAll({ kind, jid, deadline, body }, tree, signing.key);
}

/** What a command for peels of a site is signed for: the tree that an operator signed for, if one did. */
function targetsAt(job: Job, peels: readonly string[], evidence: Evidence | undefined): SiteTargets {
  if (evidence === undefined) return { peels };
  const { part } = job.request ?? {};
  if (part !== undefined) return { peels: job.targets, part };
  return { peels, part: merkleTree(job.targets).partOf(peels) };
}

/** Sends one command for the peels of each site that has enough of them. @returns the other peels */
function sendToSites(
  signing: Signing,
  kind: CommandKind,
  job: Job,
  peels: readonly string[],
): readonly string[] {
  if (kind !== "dispatch") return peels;
  const { bus, key, siteOf } = signing;
  const { jid, deadline } = job;
  const bySite = Map.groupBy(peels, (peel) => siteOf(peel));
  const rest = [...(bySite.get(undefined) ?? [])];
  bySite.delete(undefined);
  for (const [site = "", there] of bySite) {
    const { body, evidence } = bodyFor(signing, kind, job);
    const bytes =
      there.length < fewestOfSite
        ? undefined
        : signForSite({ kind, jid, deadline, body }, targetsAt(job, there, evidence), key);
    if (bytes === undefined) rest.push(...there);
    else bus.publish(siteDispatchSubject(site, jid), bytes);
  }
  return rest;
}

function publish(signing: Signing, kind: CommandKind, job: Job, peels: readonly string[]): void {
  const { bus, sitesOf } = signing;
  const sign =
    peels.length > 1
      ? signerForAll(signing, kind, job, peels)
      : (peel: string) => signFor(signing, kind, job, peel);
  for (const peel of peels) {
    const subject = subjects[kind](job.jid, peel);
    const command = sign(peel);
    bus.publish(subject, command);
    for (const site of sitesOf(peel)) bus.publish(toSiteSubject(site, subject), command);
  }
}
