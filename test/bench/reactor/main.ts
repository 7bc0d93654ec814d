import { cpus, release, totalmem } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import type { DeliveredMessage } from "../../../internal/bus/streams/consumer.ts";
import { eventSubject } from "../../../internal/bus/subjects/subjects.ts";
import { decide } from "../../../internal/fleet/reactor/decide.ts";
import type { Event } from "../../../internal/fleet/reactor/events/event.ts";
import { readEvent } from "../../../internal/fleet/reactor/events/read-event.ts";
import { createLimits } from "../../../internal/fleet/reactor/limits.ts";
import { createMatcher } from "../../../internal/fleet/reactor/match.ts";
import { render } from "../../../internal/fleet/reactor/render.ts";
import { readRules } from "../../../internal/fleet/reactor/rules/read-rule.ts";
import { encodePeelEvent } from "../../../internal/wire/peel-event.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, rate, ratio, spread, table } from "../table.ts";

// Events matched per second against many rules, by the code that a master runs for each message of the
// bus, without a bus. The floors are to read the messages alone, and to read them and try one regular
// expression per glob of each rule in a plain loop, with the conditions behind. All in turns.

const flags = readFlags({
  events: ["50000", "50"],
  rules: ["200", "20"],
  rounds: ["5", "1"],
});
const events = flags.count("events");
const ruleCount = flags.count("rules");
const rounds = flags.count("rounds");
const clock = systemClock;
const memory = () => {
  Bun.gc(true);
  return process.memoryUsage().rss / 1024 / 1024;
};

const areas = ["disk", "net", "service", "package", "user", "backup", "certificate", "clock"];
const states = ["full", "failed", "changed", "late", "gone"];
const { rules } = readRules(
  `rules:\n${Array.from({ length: ruleCount }, (_, at) => ruleText(at)).join("\n")}\n`,
  "bench",
);

/** Rules as people write them: most for one tag, some for many, a third with conditions. */
function ruleText(at: number): string {
  const area = areas[at % areas.length];
  const state = states[at % states.length];
  const globs = [
    `${area}/${state}`,
    `${area}/*`,
    `${area}/**`,
    `*/${state}`,
    `app-${at}/${state}`,
    `app-${at}/**`,
  ];
  const match = globs[at % 20 < 14 ? 4 + (at % 2) : at % 4];
  const when =
    at % 3 === 0 ? `, when: {data.percent: {gte: ${80 + (at % 20)}}, data.mount: {glob: "/v*"}}` : "";
  const action = `job: {target: "$` + `{source}", function: test.echo, args: {text: "$` + `{data.mount}"}}`;
  return `  - {name: rule-${at}, match: "${match}"${at % 7 === 0 ? ', source: "web*"' : ""}${when}, do: [{${action}}]}`;
}

const roles = ["web", "db", "cache"];
const tagAt = (at: number) =>
  at % 3 === 0
    ? `${areas[at % areas.length]}.${states[at % 5]}`
    : `app-${at % (2 * ruleCount)}.${states[at % 5]}${at % 2 === 0 ? ".now" : ""}`;
function messagesFrom(sources: number): DeliveredMessage[] {
  return Array.from({ length: events }, (_, at) => {
    const source = at % sources;
    return {
      subject: eventSubject(`${roles[source % 3]}-${source}_example_com`, tagAt(at)),
      data: encodePeelEvent({
        data: {
          percent: at % 101,
          mount: "/var",
          text: `disk of host ${at} is filling up`,
          values: [1, 2, 3],
        },
      }),
      storedAt: clock.now(),
      sequence: at + 1,
      deliveries: 1,
    };
  });
}

const matcher = createMatcher(rules);
const naiveRules = rules.map((rule) => ({
  patterns: rule.match.map(expressionOf),
  alone: createMatcher([{ ...rule, match: ["**"] }]),
}));

function expressionOf(glob: string): RegExp {
  const segments = glob.split("/").map((segment) => {
    if (segment === "**") return "(?:[^/]+/)*";
    return `${segment.replace(/[.+^$()|\\]/g, "\\$&").replaceAll("*", "[^/]*")}/`;
  });
  return new RegExp(`^${segments.join("")}$`);
}

const eventOf = (message: DeliveredMessage): Event => {
  const reading = readEvent(message);
  if (reading === undefined || !("event" in reading)) throw new Error(`no event: ${message.subject}`);
  return reading.event;
};
const limits = () =>
  createLimits({
    maxChainDepth: 3,
    enableChaining: true,
    defaultThrottleMs: 10_000,
    sourceRateLimit: 120,
    maxEventAgeMs: 3_600_000,
    stormRate: 60,
    breakerCooldownMs: 300_000,
    clock,
  });

const many = messagesFrom(10_000);
const one = messagesFrom(1);
const floor = "floor: read alone";
const naive = "read, and a loop over all rules";
const indexed = "read and matched";
const whole = "read, matched, limited, rendered: 10,000 sources";
const contenders: Record<string, () => number> = {
  [floor]: () => many.reduce((found, message) => found + (eventOf(message).depth === 0 ? 0 : 1), 0),
  [naive]: () =>
    many.reduce((found, message) => {
      const event = eventOf(message);
      const tag = `${event.tag}/`;
      return (
        found +
        naiveRules.filter(
          ({ patterns, alone }) => patterns.some((one) => one.test(tag)) && alone.match(event).length > 0,
        ).length
      );
    }, 0),
  [indexed]: () => many.reduce((found, message) => found + matcher.match(eventOf(message)).length, 0),
  [whole]: () => decideAll(many),
  "the same of one source": () => decideAll(one),
};

/** An event storm: everything at once, with empty limits. */
function decideAll(messages: readonly DeliveredMessage[]): number {
  const own = limits();
  let fires = 0;
  for (const message of messages) {
    const event = eventOf(message);
    for (const rule of decide(event, matcher, own).fires) {
      for (const action of rule.actions) if (render(action, event).kind === "job") fires++;
    }
  }
  return fires;
}

const before = memory();
const rates = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]));
const processor = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]));
const found = new Map<string, number>();
// Warm up: compiling on first use is not measured.
for (let round = -1; round < rounds; round++) {
  for (const [name, run] of Object.entries(contenders)) {
    const begun = clock.monotonic();
    const used = process.cpuUsage();
    found.set(name, run());
    const { user, system } = process.cpuUsage(used);
    if (round < 0) continue;
    rates.get(name)?.push((events / (clock.monotonic() - begun)) * 1000);
    processor.get(name)?.push((user + system) / events);
  }
}
if (found.get(naive) !== found.get(indexed)) throw new Error("the index and the loop found different rules");

const median = (all: readonly number[] = []) =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;
const usOf = (name: string) => median(processor.get(name));
const rows = [...rates].map(([name, all]) => [
  name,
  rate(found.get(name) ?? 0),
  rate(median(all)),
  spread(all),
  milliseconds(usOf(name)),
  ratio(usOf(name) / usOf(floor)),
]);
const cpu = cpus();
process.stdout.write(`
${events} events against ${rules.length} rules
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
${rounds} rounds, the lines in turns; medians

${table(["", "rules found or fired", "events per second", "spread", "processor us each", "of the floor"], rows)}

Resident memory: ${mebibytes(before)} MiB with rules and messages, ${mebibytes(memory())} MiB after the last round
`);
