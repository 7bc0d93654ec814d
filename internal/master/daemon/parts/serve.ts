import { abortable } from "../../../base/abortable.ts";
import { createParts, type Parts } from "../../../program/health/mod.ts";
import type { MasterView } from "../../metrics/mod.ts";
import type { MasterDeps } from "../options.ts";
import type { Certificate } from "./certificate.ts";
import type { SoundClock } from "./clock.ts";
import type { Connected, EmbeddedBus } from "./connect.ts";
import * as plan from "./plans.ts";
import type { Opened } from "./storage.ts";

/** What stays when the parts that serve the fleet stop: the connections, the buckets, and the clock. */
export interface Foundation {
  base: MasterDeps;
  certificate: Certificate;
  server: EmbeddedBus;
  connection: Connected;
  opened: Opened;
  clock: SoundClock;
}

/** The parts that serve the fleet, of which none has started. */
export const planServing = (signal: AbortSignal): Parts<MasterView> =>
  createParts<MasterView>(Object.values(plan), signal);

/** Starts the parts that serve the fleet, each from those before it. */
export async function serve(running: Parts<MasterView>, foundation: Foundation) {
  const { base, certificate, connection, opened, clock } = foundation;
  const { start } = running;
  const roles = await start(plan.roles, { base });
  const audit = await start(plan.audit, { base, connection });
  const identity = { base, connection, opened, clock, certificate, audit, roles };
  const operators = await start(plan.operators, identity);
  const requests = await start(plan.requests, { base, opened, operators });
  const decisions = await start(plan.decisions, { base, connection, opened, operators, roles });
  const sites = await start(plan.sites, { base, connection, opened });
  const { reportFiles } = await start(plan.comparedFiles, { base, sites });
  const members = await start(plan.members, { base, opened, clock, audit, operators, decisions });
  const claims = await start(plan.claims, { base, connection, sites, members });
  const peelDoor = await start(plan.peelDoor, { base, connection, decisions, sites, members, claims });
  const known = { base, connection, decisions, sites, members, claims, peelDoor };
  const knowledge = await start(plan.knowledge, known);
  const gate = await start(plan.gate, { base, connection, audit, roles, operators, decisions, knowledge });
  const presence = await start(plan.presence, { ...known, knowledge });
  const jobs = await start(plan.jobs, { ...known, knowledge, requests, roles });
  const automation = await start(plan.automation, {
    ...known,
    opened,
    knowledge,
    requests,
    operators,
    audit,
    gate,
    jobs,
  });
  const samples = await start(plan.samples, { ...known, opened, knowledge, clock, jobs, automation });
  const identified = { base, connection, opened, certificate, audit, roles, operators, requests, decisions };
  const signIn = await start(plan.signIn, { ...identified, gate });
  const joining = await start(plan.joining, { ...identified, members, automation, signIn });
  const everything = {
    ...identified,
    ...known,
    knowledge,
    gate,
    presence,
    jobs,
    automation,
    samples,
    joining,
    signIn,
  };
  const peelRequests = await start(plan.peelRequests, { ...everything, clock });
  const operations = await start(plan.operations, { ...everything, peelRequests });
  const { listener } = await start(plan.doors, { ...everything, operations });
  // Else the first request to a master that says it is ready finds nobody who answers.
  await abortable(connection.subscribed(), base.signal);
  return { listener, reportKeys: knowledge.reportKeys, reportFiles };
}
