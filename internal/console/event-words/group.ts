import type { ShownEvent } from "../../fleet/events/mod.ts";
import { type Outcome, outcomeOf, outcomes } from "../kit/outcome.ts";
import { type EventWords, numberOf, type Part, peelPart, textOf, wordsOf } from "./words.ts";

/** Events that are one line: those of one job, or the same of many peels. */
export interface EventGroup {
  /** That of its newest event. */
  id: string;
  /** When its newest event happened. */
  at: string;
  tag: string;
  words: EventWords;
  /** The newest first. */
  events: readonly ShownEvent[];
}

const maxNamed = 3;

/** Events that many peels send at once; what differs is the peel. */
const alike = /^svc\/(?:peel\/[^/]+\/(?:lost|regained)|schedule\/[^/]+\/[^/]+)$/;

/**
 * Puts events together that people see as one: all of a job, at the place of the newest; and those in a row that say
 * the same of several peels.
 *
 * @param events the newest first
 */
export function groupEvents(events: readonly ShownEvent[]): EventGroup[] {
  const groups: { key: string; events: ShownEvent[] }[] = [];
  const jobs = new Map<string, ShownEvent[]>();
  for (const event of events) {
    const key = keyOf(event);
    const isJob = key.startsWith("svc/job/");
    const last = groups.at(-1);
    const known = isJob ? jobs.get(key) : last?.key === key ? last.events : undefined;
    if (known !== undefined) {
      known.push(event);
      continue;
    }
    const own = [event];
    groups.push({ key, events: own });
    if (isJob) jobs.set(key, own);
  }
  return groups.map(({ key, events: own }) => groupOf(key, own));
}

/** What events of one line have in common; an event with a line of its own has its id. */
function keyOf({ id, tag }: ShownEvent): string {
  const [service, kind, name, last] = tag.split("/");
  if (service === "svc" && kind === "job") return `svc/job/${name}`;
  if (!alike.test(tag)) return id;
  return kind === "peel" ? `svc/peel/*/${last}` : `svc/schedule/${name}/*`;
}

function groupOf(key: string, events: readonly ShownEvent[]): EventGroup {
  const [newest] = events as readonly [ShownEvent, ...ShownEvent[]];
  const { id, at, tag } = newest;
  if (key.startsWith("svc/job/")) return { id, at, tag: `${key}/**`, words: jobWords(events), events };
  if (events.length === 1) return { id, at, tag, words: wordsOf(newest), events };
  return { id, at, tag: key, words: manyWords(key, events), events };
}

/** A job as far as its events tell it. */
function jobWords(events: readonly ShownEvent[]): EventWords {
  const dataOf = (last: string) => events.find(({ tag }) => tag.split("/")[3] === last)?.data;
  const [created, ended] = [dataOf("created"), dataOf("ended")];
  const returns = events.filter(({ tag }) => tag.split("/")[3] === "return");
  const [{ data }] = events as readonly [ShownEvent, ...ShownEvent[]];
  const job: Part = {
    text: textOf(data, "function") || "a job",
    to: `/jobs/${textOf(data, "jid") || (events[0]?.tag.split("/")[2] ?? "")}`,
  };
  const who = textOf(data, "created_by");
  const head: Part[] = [job, who === "" ? "" : ` of ${who}`];
  const [only] = returns;
  if (ended !== undefined) {
    const status = textOf(ended, "status");
    const counts = Object.entries(Object(ended.counts) as Record<string, number>);
    const sum = counts.reduce((all, [, count]) => all + count, 0);
    const where: Part[] =
      sum === 1 && only !== undefined ? [" on ", peelPart(only.source)] : [` on ${peels(sum)}`];
    return { outcome: outcomeOf(status), parts: [...head, ...where, `: ${countWords(counts)}`] };
  }
  const counts = [...Map.groupBy(returns, ({ data: one }) => textOf(one, "outcome"))].map(
    ([word, all]) => [word, all.length] as const,
  );
  const bad = counts.filter(([word]) => word !== "ok");
  const outcome: Outcome = bad.length > 0 ? "failed" : created === undefined ? "ok" : "running";
  if (created === undefined) {
    const where: Part[] =
      returns.length === 1 && only !== undefined
        ? [" answered by ", peelPart(only.source)]
        : [` answered by ${peels(returns.length)}`];
    return { outcome, parts: [...head, ...where, `: ${countWords(counts)}`] };
  }
  const answered = returns.length === 0 ? "" : `, ${countWords(counts)} so far`;
  return { outcome, parts: [...head, ` began on ${peels(numberOf(created, "targets"))}${answered}`] };
}

function manyWords(key: string, events: readonly ShownEvent[]): EventWords {
  const names = [...new Set(events.map(({ source }) => source))];
  const named: Part[] = names
    .slice(0, maxNamed)
    .flatMap((name, at) => (at === 0 ? [peelPart(name)] : [", ", peelPart(name)]));
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : "";
  const [, kind, name, last] = key.split("/");
  if (kind === "schedule") {
    const counts = [...Map.groupBy(events, ({ data }) => textOf(data, "outcome"))].map(
      ([word, all]) => [word, all.length] as const,
    );
    const isBad = counts.some(([word]) => word !== "ok");
    return {
      outcome: isBad ? "failed" : "ok",
      parts: [`The schedule ${name} ran on `, ...named, `${more}: ${countWords(counts)}`],
    };
  }
  const isLost = last === "lost";
  return {
    outcome: isLost ? "offline" : "ok",
    parts: [...named, `${more} ${isLost ? "fell silent" : "are back"}`],
  };
}

const peels = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "peel" : "peels"}`;

/** `4 failed, 9 ok`: what went wrong first. */
function countWords(counts: readonly (readonly [string, number])[]): string {
  return counts
    .filter(([, count]) => count > 0)
    .toSorted(([one], [other]) => outcomes.indexOf(outcomeOf(other)) - outcomes.indexOf(outcomeOf(one)))
    .map(([word, count]) => `${count.toLocaleString("en")} ${word}`)
    .join(", ");
}
