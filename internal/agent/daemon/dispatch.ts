import { defined } from "../../base/defined.ts";
import { attempt } from "../../base/errors.ts";
import { type Span, untraced } from "../../base/trace.ts";
import { ackSubject } from "../../bus/subjects/subjects.ts";
import { acknowledgement } from "../../wire/acknowledgement.ts";
import { type Call, decodeCall, readTrace } from "../../wire/call.ts";
import type { Command } from "../../wire/command.ts";
import type { Consent } from "../consent/mod.ts";
import { failedReturn, reportOutput, reportProgress } from "../execution/mod.ts";
import { admit, refuse, spend } from "./admit.ts";
import { endTrace } from "./end-trace.ts";
import { logOf } from "./returns.ts";
import { sealHidden } from "./seal-hidden.ts";
import type { Work } from "./work.ts";

/** Runs the job of a command, unless it ran before or must not run. */
export async function dispatch(work: Work, command: Command): Promise<void> {
  const { returns, automatic, clock } = work;
  const { executor, counts } = work.local;
  if (isKnown(work, command)) {
    counts.repeated++;
    logOf(work.log, command).debug("command came again");
    return returns.repeat(command);
  }
  const call = callOf(command);
  if (call === undefined) {
    returns.answered.set(command.jid, true);
    returns.report(command, failedReturn("the job is malformed", clock.now(), 0), false);
    return;
  }
  const consent = work.insistence?.dispatch(command, call);
  if (consent !== undefined && "refused" in consent) return refuse(work, command, consent);
  const isFree = consent?.by === "automation" || (consent?.by === "operator" && consent.isWave);
  if (isFree) automatic.set(command.jid, true);
  const allowed = consent?.by === "automation" ? consent.call : call;
  await (executor.isReadOnly(call) ? runReadOnly : change)(work, command, allowed, consent);
}

/** Whether a command came before. */
export const isKnown = ({ returns, local }: Work, { jid }: Command): boolean =>
  returns.answered.get(jid) === true || local.dedup.has(jid);

function callOf({ body }: Command): Call | undefined {
  return attempt(() => decodeCall(body));
}

/** Runs a read-only job. */
async function runReadOnly(
  work: Work,
  command: Command,
  call: Call,
  consent: Consent | undefined,
): Promise<void> {
  const used = spend(work, command, consent);
  if (used !== undefined) return refuse(work, command, { refused: used });
  logOf(work.log, command).info("job taken", { function: call.function });
  work.returns.answered.set(command.jid, true);
  const deadline = deadlineOf(work, command, consent);
  const span = traceOf(work, command, call);
  const sealing = sealHidden(work, command, call, consent);
  const result = await work.local.executor.run({
    ...{ id: command.jid, call, origin: originOf(command), deadline },
    ...defined({ hidden: sealing?.take }),
  });
  endTrace(span, result);
  work.returns.answer(command, call, sealing?.into(result) ?? result);
}

/** Runs a mutating job, when the bus has stored that this peel takes it. */
async function change(work: Work, command: Command, call: Call, consent: Consent | undefined): Promise<void> {
  if (!admit(work, command, consent)) return;
  const { connection, peelId, clock, local } = work;
  const { jid, deadline } = command;
  logOf(work.log, command).info("job taken", { function: call.function });
  const acknowledged = local.outbox.put({
    subject: ackSubject(jid, peelId),
    payload: acknowledgement,
    durable: false,
    until: deadline,
  });
  const ready = acknowledged.stored.then((isStored) => isStored || new Promise(() => {}));
  const progress = reportProgress({ connection, jid, peelId, clock });
  const output = call.follow === true ? reportOutput({ connection, jid, peelId, clock }) : undefined;
  const upgrade = local.upgrades?.({ jid, deadline });
  const span = traceOf(work, command, call);
  const result = await local.executor.run({
    ...{ id: jid, call, origin: originOf(command), deadline: deadlineOf(work, command, consent) },
    ...{ ready, progress: progress.update },
    ...defined({ output: output?.add, upgrade }),
  });
  progress.stop();
  output?.stop();
  endTrace(span, result);
  // The stopped job may be an upgrade that continues without this process.
  if (result.outcome !== undefined && local.defer(jid)) return;
  const kept = work.returns.report(command, result, true);
  // A return that is only in memory may be lost. Then the next start must report it.
  if (!kept.onDisk) await kept.stored;
  local.dedup.close(jid, deadline, "done");
}

const originOf = ({ jid }: Command) => ({ trigger: "job", jid }) as const;

/** It may run no longer than the operator allowed, whatever the master says. */
const deadlineOf = ({ clock }: Work, { deadline }: Command, consent: Consent | undefined): number =>
  consent?.by === "operator" ? Math.min(deadline, clock.now() + consent.timeoutMs) : deadline;

/** From here to its end: also the time in the queue. */
const traceOf = ({ tracer = untraced, peelId }: Work, { jid, body }: Command, call: Call): Span =>
  tracer.begin(`run ${call.function}`, {
    kind: "consumer",
    attributes: { "svc.jid": jid, "svc.peel": peelId, "svc.function": call.function },
    ...defined({ parent: readTrace(body) }),
  });
