import { sleep } from "../../base/clock.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import {
  type EnrollmentState,
  type EnrollmentSummary,
  memberStates,
  transitions,
} from "../../fleet/enrollment/record/mod.ts";
import { jobOperations } from "../../fleet/jobs/mod.ts";
import { peelOperations } from "../../fleet/peels/mod.ts";
import { rolloutOperations } from "../../fleet/rollout/mod.ts";
import { type IdKind, idKinds, type Machine, visible } from "../../program/command-line/mod.ts";
import { allPages } from "../all-pages.ts";
import { factCell } from "../facts/cell.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";

/** Timeout: the user is waiting at the prompt. */
const timeoutMs = 2_000;
/** Maximum number of ids: they fit into a pipe, and into a readable list. */
const maxIds = 500;
/** Number of jobs or rollouts to request. */
const newest = 100;

/** A completion candidate, with its description. */
interface Offer {
  id: string;
  text: string;
}

/**
 * Writes the ids for an argument, for the completion scripts: one per line, followed by a tab and a
 * description. Errors are silent, because it runs while the user types.
 *
 * @param argv the kind of the ids, their prefix, optionally the configuration file, and the word before: the function
 *   of arguments, or the peel of facts
 * @returns the exit code 0, after at most 2 s
 */
export async function offerIds(
  argv: readonly string[],
  machine: Pick<Machine, "env" | "stdout" | "clock" | "random">,
): Promise<number> {
  const [kind, prefix = "", config = "", before = ""] = argv;
  const wanted = idKinds.find((one) => one === kind);
  if (wanted === undefined) return 0;
  if (wanted === "functions" || wanted === "arguments" || wanted === "columns") {
    machine.stdout.write(linesOf(await own[wanted](before, prefix), prefix));
    return 0;
  }
  const done = new AbortController();
  const cli = { ...machine, stderr: { write: () => undefined }, ...(config === "" ? {} : { config }) };
  const answered = withBus(cli, async (bus) => {
    const found = await readers[wanted](bus, before, prefix);
    machine.stdout.write(linesOf(found, prefix));
  });
  const late = sleep(machine.clock, timeoutMs, done.signal);
  await Promise.race([answered.catch(() => undefined), late]);
  done.abort();
  await late.catch(() => undefined);
  return 0;
}

function linesOf(offers: readonly Offer[], prefix: string): string {
  const seen = new Set<string>();
  return offers
    .filter(({ id }) => {
      // An id must not contain anything that a shell would interpret.
      if (
        seen.has(id) ||
        !id.startsWith(prefix) ||
        !/^[A-Za-z0-9][A-Za-z0-9._-]*([=,][A-Za-z0-9._-]*)*$/.test(id)
      )
        return false;
      seen.add(id);
      return true;
    })
    .slice(0, maxIds)
    .map(({ id, text }) => `${id}\t${visible(text)}\n`)
    .join("");
}

/** What every svc of this version knows. */
const own = {
  functions: readFunctions,
  arguments: readArguments,
  columns: async (_: string, prefix: string) => {
    const { columns } = await import("../peels/columns.ts");
    return nextInList(
      columns.map((id) => ({ id, text: "column" })),
      prefix,
    );
  },
};

/** The items that may follow in a list with commas, each with the list so far. */
function nextInList(offers: readonly Offer[], prefix: string): Offer[] {
  const list = prefix.slice(0, prefix.lastIndexOf(",") + 1);
  const given = new Set(list.split(","));
  return offers.filter(({ id }) => !given.has(id)).map(({ id, text }) => ({ id: `${list}${id}`, text }));
}

/** Functions are the same in every fleet of this version. */
async function readFunctions(): Promise<Offer[]> {
  const { allFunctions } = await import("../../host/modules/mod.ts");
  return allFunctions.flatMap(({ name, aliases = [], doc }) =>
    [name, ...aliases].map((id) => ({ id, text: doc })),
  );
}

/** `name=` for each argument of a function, and behind it the values that are possible where there are few. */
async function readArguments(name: string, prefix: string): Promise<Offer[]> {
  const { allFunctions } = await import("../../host/modules/mod.ts");
  const found = allFunctions.find((one) => one.name === name || one.aliases?.includes(name));
  const offers = Object.entries(found?.args ?? {}).flatMap(([argument, { type, values, doc }]) => {
    const known = type === "boolean" ? ["true", "false"] : (values ?? []);
    if (!prefix.startsWith(`${argument}=`)) return [{ id: `${argument}=`, text: doc }];
    return known.map((value) => ({ id: `${argument}=${value}`, text: doc }));
  });
  return found?.name === "state.single" ? [...(await readStateFunctions()), ...offers] : offers;
}

async function readStateFunctions(): Promise<Offer[]> {
  const { stateRegistry } = await import("../../tree/functions/mod.ts");
  return (await stateRegistry.all()).map(({ name, doc }) => ({ id: name, text: doc }));
}

const readers: Record<
  Exclude<IdKind, keyof typeof own>,
  (bus: Bus, before: string, prefix: string) => Promise<Offer[]>
> = {
  members: (bus) => readPeels(bus, ({ state }) => memberStates.has(state)),
  peels: (bus) => readPeels(bus, () => true),
  enrollments: (bus, _, prefix) => readIds(bus, prefix, "all", () => true),
  "pending-enrollments": (bus, _, prefix) => readIds(bus, prefix, "pending", () => true),
  "revocable-enrollments": (bus, _, prefix) =>
    readIds(bus, prefix, "all", ({ state }) => "revoke" in transitions[state]),
  "cloned-enrollments": async (bus, _, prefix) =>
    withNames((await survey(bus)).clones, prefix, () => "two hosts"),
  "suspended-enrollments": async (bus, _, prefix) =>
    withNames((await survey(bus)).suspended, prefix, () => "suspended"),
  jobs: (bus) => readJobs(bus, {}),
  "running-jobs": (bus) => readJobs(bus, { status: "running" }),
  rollouts: readRollouts,
  facts: async (bus, peel, prefix) => nextInList(await readFacts(bus, peel), prefix),
};

/** Longest beginning of a value that stands next to its name. */
const maxText = 40;

/** The facts of a peel. Hosts of one fleet have mostly the same: without a peel, those of one that is alive will do. */
async function readFacts(bus: Bus, peel: string): Promise<Offer[]> {
  const id = peel === "" ? await anyPeel(bus) : peel;
  if (id === undefined) return [];
  const { value } = await request(bus, peelOperations.getFacts, { id }, { isHasty: true });
  return Object.entries(value ?? {}).map(([name, one]) => ({
    id: name,
    text: factCell(one).slice(0, maxText),
  }));
}

async function anyPeel(bus: Bus): Promise<string | undefined> {
  const { peels } = await request(bus, peelOperations.listPeels, { limit: newest }, { isHasty: true });
  return (peels.find(({ alive }) => alive) ?? peels[0])?.id;
}

async function readPeels(bus: Bus, choose: (one: EnrollmentSummary) => boolean): Promise<Offer[]> {
  const found = (await list(bus, "all")).filter(choose);
  return found
    .map(({ peel_id, state }) => ({ id: displayPeelId(peel_id), text: state }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
}

async function readIds(
  bus: Bus,
  prefix: string,
  state: EnrollmentState | "all",
  choose: (one: EnrollmentSummary) => boolean,
): Promise<Offer[]> {
  const found = (await list(bus, state)).filter(choose);
  return withNames(found, prefix, ({ state }) => state);
}

/** Newest first, as in `svc enroll list`. */
function list(bus: Bus, state: EnrollmentState | "all"): Promise<EnrollmentSummary[]> {
  const requested = { state, limit: 1_000 };
  return allPages(
    (after) =>
      request(bus, enrollmentOperations.listEnrollments, { ...requested, ...after }, { isHasty: true }),
    "enrollments",
  );
}

const survey = (bus: Bus) => request(bus, peelOperations.surveyPeels, {}, { isHasty: true });

/**
 * Enrollments by the names of their peels, as people know them. By id where several have the name, which is refused then,
 * or an id is typed: with both for one enrollment, a shell would not insert the only one there is.
 */
function withNames<One extends { id: string; peel_id: string }>(
  found: readonly One[],
  prefix: string,
  textOf: (one: One) => string,
): Offer[] {
  const peels = found.map(({ peel_id }) => displayPeelId(peel_id));
  const isOnly = (name: string) => peels.indexOf(name) === peels.lastIndexOf(name);
  return found.map((one, at) => {
    const name = peels[at] ?? "";
    return isOnly(name) && !prefix.startsWith("enr-")
      ? { id: name, text: `${one.id}, ${textOf(one)}` }
      : { id: one.id, text: `${name}, ${textOf(one)}` };
  });
}

async function readRollouts(bus: Bus): Promise<Offer[]> {
  const { rollouts } = await request(
    bus,
    rolloutOperations.listRollouts,
    { limit: newest },
    { isHasty: true },
  );
  return rollouts.map((rollout) => ({
    id: rollout.id,
    text: `${rollout.function} on ${rollout.target ?? `${rollout.targets} peels`}, ${rollout.status}`,
  }));
}

async function readJobs(bus: Bus, only: { status?: "running" }): Promise<Offer[]> {
  const { jobs } = await request(bus, jobOperations.listJobs, { limit: newest, ...only }, { isHasty: true });
  return jobs.map((job) => ({
    id: job.jid,
    text: `${job.function} on ${job.target ?? `${job.targets} peels`}, ${job.status}`,
  }));
}
