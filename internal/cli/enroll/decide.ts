import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { EnrollmentState, EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import {
  type Cli,
  type Columns,
  Exit,
  formatTable,
  type RestWords,
  type TableStyle,
  visible,
  word,
} from "../../program/command-line/mod.ts";
import { confirm } from "../confirm/confirm.ts";
import { inStates } from "../ids/choose-enrollment.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { Interrupted, interruptedExit, untilInterrupted } from "../job/interrupt.ts";
import { startProgress } from "../job/progress.ts";
import { type Decisions, decideAll } from "./decide-all.ts";
import { compareThem, proofOf } from "./list.ts";
import { readList } from "./read-list.ts";
import {
  type Chosen,
  choose,
  type LeftOut,
  readSelection,
  type Selection,
  type SelectionWords,
} from "./select.ts";
import { formatTally, type Item, tally, toData } from "./tally.ts";

/** The other ids of a command that takes several. */
export const moreArg = word("More of them", { rest: true });

const shownColumns: Columns = {
  ID: "id",
  "PEEL ID": "text",
  HOSTNAME: "wide",
  ADDRESS: "text",
  EVIDENCE: "text",
  FINGERPRINT: "word",
};
/** How many of those that are chosen are shown before the question. */
const shownFirst = 10;

export interface Decided {
  id: string;
  peel_id: string;
}

/** One of the decisions that can be made on many enrollments. */
export interface Decision {
  /** `approve` */
  verb: string;
  /** `approved` */
  done: string;
  /** The states in which it can be made, in the order in which an enrollment takes them. */
  states: readonly EnrollmentState[];
  /** What must be looked at one by one, and is not selected. */
  leavesOut: ReadonlySet<LeftOut>;
  /** What to know before it is made on one that is listed. */
  noticeOf?(one: EnrollmentSummary): string | undefined;
  /** The same of those that are named. */
  noticesOf?(ids: readonly string[]): Promise<string[]>;
  /** Whether one of several hosts that wait under one peel id is decided on by its id alone. */
  leavesContested?: true;
  /** @param isNamed it was named by its id, not selected */
  decide(id: string, isNamed: boolean): Promise<Decided | undefined>;
}

export interface DecisionWords extends SelectionWords {
  id?: string | undefined;
  more: RestWords;
  yes?: boolean | undefined;
  force?: boolean | undefined;
  "direct-kv"?: boolean | undefined;
}

/** The ids that are named, each once. */
export function namedIds({ id, more }: Pick<DecisionWords, "id" | "more">): string[] {
  return [...new Set([...(id === undefined ? [] : [id]), ...more.words, ...more.literal])];
}

/**
 * Decides on the enrollments that are named, and on those that the options select. It asks first, and shows what it
 * will do to those that are selected.
 *
 * @throws Exit 1 when one failed, or the question was not answered with yes; 130 after Ctrl-C
 * @throws SvcError `usage`; what a master answered, for the only one
 */
export async function decide(words: DecisionWords, bus: Bus, cli: Cli, decision: Decision): Promise<void> {
  const selection = readSelection(words);
  const named = await fullIds(words, bus, cli, decision);
  if (selection !== undefined) return decideOnSelected(words, { selection, named }, bus, cli, decision);
  const [only, ...others] = named;
  if (only === undefined) {
    throw new SvcError(
      "usage",
      `name the enrollments to ${decision.verb} by their ids or hosts, or select them with --match, --address, --evidence or --all`,
    );
  }
  const notices = (await decision.noticesOf?.(named)) ?? [];
  for (const notice of notices) cli.say(notice);
  const called = namedIds(words);
  const what = others.length > 0 ? countOf(named.length) : visible(called[0] ?? only);
  await confirm(cli, `${capital(decision.verb)} ${what}`, words.yes === true);
  if (others.length > 0) return decideOnNamed(named, cli, decision);
  const enrollment = await decideOne(only, true, decision);
  return cli.print(enrollment, () => doneLine(decision, enrollment));
}

/** Whole ids, each once. */
async function fullIds(words: DecisionWords, bus: Bus, cli: Cli, { states }: Decision): Promise<string[]> {
  const found = new Set<string>();
  const wanted = inStates(states);
  const isDirect = words["direct-kv"] === true;
  for (const named of namedIds(words)) found.add(await enrollmentId(named, bus, cli, { wanted, isDirect }));
  return [...found];
}

/** The answer to many decisions may have no room for each enrollment. */
async function decideOne(
  id: string,
  isNamed: boolean,
  { decide }: Pick<Decision, "decide">,
): Promise<Decided> {
  return (await decide(id, isNamed)) ?? { id, peel_id: "" };
}

const doneLine = ({ done }: Decision, { id, peel_id }: Decided) =>
  `${done} ${id}${peel_id === "" ? "" : ` (${displayPeelId(peel_id)})`}`;

/** Decides on several ids, and prints what became of each. */
async function decideOnNamed(ids: readonly string[], cli: Cli, decision: Decision): Promise<void> {
  const { outcomes, stopped } = await untilInterrupted(cli, (signal) =>
    decideAll(ids, (id) => decideOne(id, true, decision), { signal }),
  );
  const results: unknown[] = [];
  const lines: string[] = [];
  let hasFailed = false;
  for (const id of ids) {
    const outcome = outcomes.get(id);
    if (outcome?.kind === "done") {
      results.push(outcome.enrollment);
      lines.push(doneLine(decision, outcome.enrollment));
    } else if (outcome?.kind === "waiting") {
      const { approval, needs, message } = outcome.waiting;
      results.push({ id, approval, needs });
      lines.push(`${id} ${message}`);
    } else if (outcome?.kind === "failed") {
      hasFailed = true;
      results.push({ id, error: outcome.error.message });
      cli.warn(`${id}: ${outcome.error.message}`);
    }
  }
  if (results.length > 0) await cli.print(results, () => lines.join("\n"));
  end(stopped, hasFailed);
}

async function decideOnSelected(
  words: DecisionWords,
  { selection, named }: { selection: Selection; named: string[] },
  bus: Bus,
  cli: Cli,
  decision: Decision,
): Promise<void> {
  const isDirect = words["direct-kv"] === true;
  const listed = await list(bus, decision, isDirect);
  const marks = { trust: decision.leavesOut, contested: decision.leavesContested === true };
  const found = choose(listed, selection, marks, new Set(named));
  const known = new Map(listed.map((one) => [one.id, one]));
  const items = [...named.map((id): Item => known.get(id) ?? { id, peel_id: "" }), ...found.chosen];
  reportLeftOut(found, cli, decision);
  if (words.force === true && named.length === 0 && found.leftOut.some(({ contested }) => !contested)) {
    cli.say("--force applies to enrollments that are named by their ids, not to those that are selected");
  }
  if (items.length === 0) cli.say("nothing is selected");
  else {
    preview(items, known, cli, decision);
    if (words.yes !== true && cli.prompt === undefined) {
      const { verb } = decision;
      throw new SvcError("usage", `this is not a terminal, so no one can confirm: add --yes to ${verb} them`);
    }
    await confirm(cli, `${capital(decision.verb)} ${countOf(items.length)}`, words.yes === true);
  }
  const isNamed = new Set(named);
  const decisions = await run(items, isNamed, cli, decision, isDirect);
  const result = tally(items, decisions.outcomes, found.leftOut, isNamed);
  await cli.print(toData(result, decision.done), () => formatTally(result, decision.done));
  for (const { id, error } of result.failed.slice(0, shownFirst)) cli.warn(`${id}: ${error}`);
  const silent = result.failed.length - shownFirst;
  if (silent > 0) cli.say(`and ${silent} more failed: run it again with --output json to see each`);
  end(decisions.stopped, result.failed.length > 0);
}

/** All that the decision could be made on. */
async function list(bus: Bus, { states }: Decision, isDirect: boolean): Promise<EnrollmentSummary[]> {
  const found: EnrollmentSummary[] = [];
  // One state after the other: what moves on meanwhile is found in the next.
  for (const state of states) found.push(...(await readList(bus, state, isDirect)).found);
  return found;
}

function reportLeftOut({ leftOut }: Chosen, cli: Cli, { verb }: Decision): void {
  if (leftOut.length === 0) return;
  const contested = leftOut.filter((one) => one.contested === true);
  if (contested.length > 0) cli.say(`${contested.length} left out: ${compareThem(contested)}`);
  const others = leftOut.filter((one) => one.contested !== true);
  for (const [trust, all] of Map.groupBy(others, ({ trust }) => trust)) {
    const some = all.slice(0, 3).map(({ id }) => id);
    const more = all.length > some.length ? ", …" : "";
    const next =
      trust === "TAMPERED" ? "see svc enroll restore" : `look at each, then svc enroll ${verb} ID --force`;
    cli.say(`${all.length} ${trust} left out (${some.join(", ")}${more}): ${next}`);
  }
}

function preview(
  items: readonly Item[],
  known: ReadonlyMap<string, EnrollmentSummary>,
  cli: Cli,
  { verb, noticeOf }: Decision,
): void {
  cli.say(`${verb} ${countOf(items.length)}:`);
  const { columns } = cli.stderr;
  const style = { color: false, wide: cli.wide, ...defined({ width: columns }) };
  const shown = items.slice(0, shownFirst);
  for (const line of formatChosen(shown, known, style).split("\n")) cli.say(line);
  if (items.length > shownFirst) cli.say(`and ${items.length - shownFirst} more`);
  // Of all: nobody would see them otherwise.
  for (const { id } of items) {
    const one = known.get(id);
    const notice = one && noticeOf?.(one);
    if (notice !== undefined) cli.say(notice);
  }
}

/** The enrollments that are decided on, with what an operator compares. */
export function formatChosen(
  items: readonly Item[],
  known: ReadonlyMap<string, EnrollmentSummary>,
  style: TableStyle,
): string {
  const rows = items.map(({ id, peel_id }) => {
    const one = known.get(id);
    const { hostname = "", address = "-", fingerprint = "-" } = one ?? {};
    const proof = one === undefined ? undefined : proofOf(one);
    return [id, displayPeelId(peel_id), hostname, address, proof ?? "-", fingerprint];
  });
  return formatTable(shownColumns, rows, style);
}

const countOf = (count: number) => (count === 1 ? "1 enrollment" : `${count} enrollments`);

const capital = (verb: string) => `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;

/** Decides on all of them, with the progress on a terminal. Ctrl-C begins nothing new. */
async function run(
  items: readonly Item[],
  isNamed: ReadonlySet<string>,
  cli: Cli,
  decision: Decision,
  isDirect: boolean,
): Promise<Decisions<Decided>> {
  const counts = { ok: 0, failed: 0, pending: items.length };
  let waiting = 0;
  // What a direct decision logs goes to the same terminal.
  const isQuiet = isDirect || cli.output !== "table";
  const progress = isQuiet ? undefined : startProgress(cli.stderr, cli.clock, cli.env);
  try {
    return await untilInterrupted(cli, (signal) => {
      progress?.update(counts);
      return decideAll(
        items.map(({ id }) => id),
        (id) => decideOne(id, isNamed.has(id), decision),
        {
          signal,
          onOutcome({ kind }) {
            counts.pending--;
            if (kind === "failed") counts.failed++;
            else counts.ok++;
            if (kind === "waiting") waiting++;
            progress?.update(counts, waiting === 0 ? "" : `${waiting} for other operators`);
          },
        },
      );
    });
  } finally {
    progress?.end();
  }
}

/** @throws Exit, or what ended the run early */
function end(stopped: unknown, hasFailed: boolean): void {
  if (stopped instanceof Interrupted) throw new Exit(interruptedExit);
  if (stopped !== undefined) throw stopped;
  if (hasFailed) throw new Exit(1);
}
