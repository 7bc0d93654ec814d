import { beginningOf, quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, type StateContext, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring, NotReady } from "../not-ready.ts";
import { comparable, isNftName, ruleArgs, ruleProblem, ruleText } from "./nftables-rule.ts";
import { type BootFile, planRules, position, type RuleArgs, save } from "./packet-filter.ts";

const family = arg.string("Family of addresses; ipv4 by default.", {
  values: ["ipv4", "ipv6", "inet", "arp", "bridge", "netdev"],
});
const table = arg.string("Table; filter by default.");
const chain = arg.string("Chain, such as input.", { required: true });
const rule = { table, family, chain, save, ...ruleArgs } as const;

type Where = { table?: string | undefined; family?: string | undefined };

/** States of tables, chains and rules of nftables. */
export const nftablesStates: readonly StateFunction[] = deferring([
  defineState({
    name: "nftables.append",
    needsAll: true,
    doc: "Ensures that a rule is in a chain; it is added at the end.",
    args: rule,
    refuse: ruleProblem,
    plan: (name, args, context) => planRule(name, args, context, "end"),
  }),
  defineState({
    name: "nftables.insert",
    needsAll: true,
    doc: "Ensures that a rule is in a chain; it is added at a position.",
    args: { ...rule, position },
    refuse: ruleProblem,
    plan: (name, args, context) => planRule(name, args, context, args.position ?? 1),
  }),
  defineState({
    name: "nftables.delete",
    needsAll: true,
    doc: "Ensures that a rule is not in a chain.",
    args: rule,
    refuse: ruleProblem,
    async plan(name, args, context) {
      const system = systemOf(context);
      const text = ruleText(args);
      const found = (await rulesOf(system, args, args.chain)).filter(
        (each) => each.text === comparable(text),
      );
      const run = async () => {
        for (const { handle } of found) await removeRule(system, args, args.chain, handle);
      };
      const removing = found.length === 0 ? [] : [{ changes: { [name]: { removed: text } }, run }];
      const saved = { wanted: args.save, file: bootFile(system) };
      return planRules(system, removing, saved, name, [
        "is not in the chain",
        "would be removed",
        "was removed",
      ]);
    },
  }),
  defineState({
    name: "nftables.flush",
    doc: "Ensures that a chain, or without one every chain of the table, has no rules.",
    args: { table, family, chain: arg.string("Chain; all chains by default.") },
    refuse: (args) => nameProblem(args, args.chain === undefined ? [] : ["chain"]),
    async plan(name, args, context) {
      const system = systemOf(context);
      const chains = args.chain === undefined ? await chainsOf(system, args) : [args.chain];
      const rules = (await Promise.all(chains.map((each) => rulesOf(system, args, each)))).flat();
      const what = args.chain === undefined ? ["table"] : ["chain"];
      const argv = [
        "nft",
        "flush",
        ...what,
        ...placeOf(args),
        ...(args.chain === undefined ? [] : [args.chain]),
      ];
      const run = async () => void (await succeed(system, "remove the rules", argv));
      const changes = { [name]: { old: rules.map((each) => each.text), new: [] } };
      const steps = rules.length === 0 ? [] : [{ changes, run }];
      return planRules(system, steps, undefined, name, ["has no rules", "would be emptied", "was emptied"]);
    },
  }),
  defineState({
    name: "nftables.chain_present",
    doc: "Ensures that a chain exists. An existing one keeps its type, hook and priority.",
    args: {
      ...{ table, family },
      table_type: arg.string("Type of a chain that packets enter, with hook and priority.", {
        values: ["filter", "nat", "route"],
      }),
      hook: arg.string("Where packets enter the chain.", {
        values: ["prerouting", "input", "forward", "output", "postrouting", "ingress"],
      }),
      priority: arg.integer("Order among chains of the same hook; lower ones come first."),
    },
    refuse: (args) => {
      const given = [args.table_type, args.hook, args.priority].filter((each) => each !== undefined).length;
      if (given !== 0 && given !== 3) return "table_type, hook and priority: give all three, or none";
      return nameProblem(args, []);
    },
    async plan(name, args, context) {
      const system = systemOf(context);
      const exists = (await chainsOf(system, args)).includes(nftName(name));
      const { table_type: type, hook, priority } = args;
      const base = hook === undefined ? [] : [`{ type ${type} hook ${hook} priority ${priority} ; }`];
      const argv = ["nft", "--", "add", "chain", ...placeOf(args), name, ...base];
      const run = async () => void (await succeed(system, `create the chain ${name}`, argv));
      const steps = exists ? [] : [{ changes: { [name]: "created" }, run }];
      return planRules(system, steps, undefined, name, ["exists", "would be created", "was created"]);
    },
  }),
  defineState({
    name: "nftables.chain_absent",
    doc: "Ensures that a chain does not exist. Its rules are removed with it.",
    args: { table, family },
    refuse: (args) => nameProblem(args, []),
    async plan(name, args, context) {
      const system = systemOf(context);
      const exists = (await chainsOf(system, args)).includes(nftName(name));
      const run = async () => {
        for (const verb of ["flush", "delete"]) {
          await succeed(system, `${verb} the chain ${name}`, ["nft", verb, "chain", ...placeOf(args), name]);
        }
      };
      const steps = exists ? [{ changes: { [name]: "removed" }, run }] : [];
      return planRules(system, steps, undefined, name, ["does not exist", "would be removed", "was removed"]);
    },
  }),
  defineState({
    name: "nftables.table_present",
    doc: "Ensures that a table exists.",
    args: { family },
    plan: (name, args, context) => planTable(name, args, context, true),
  }),
  defineState({
    name: "nftables.table_absent",
    doc: "Ensures that a table does not exist. Its chains and rules are removed with it.",
    args: { family },
    plan: (name, args, context) => planTable(name, args, context, false),
  }),
]);

async function planTable(name: string, args: Where, context: StateContext, wanted: boolean) {
  const system = systemOf(context);
  const place = [familyOf(args), nftName(name)];
  const exists = (await list(system, ["tables"])).some(
    (line) => line.replace(/ # handle \d+$/, "") === `table ${place.join(" ")}`,
  );
  const argv = ["nft", wanted ? "add" : "delete", "table", ...place];
  const run = async () => void (await succeed(system, `change the table ${name}`, argv));
  const steps = exists === wanted ? [] : [{ changes: { [name]: wanted ? "created" : "removed" }, run }];
  const [fine, done] = wanted ? ["exists", "created"] : ["does not exist", "removed"];
  return planRules(system, steps, undefined, name, [fine, `would be ${done}`, `was ${done}`]);
}

async function planRule(
  name: string,
  args: RuleArgs & Where & { chain: string },
  context: StateContext,
  place: number | "end",
) {
  const system = systemOf(context);
  const text = ruleText(args);
  const exists = (await rulesOf(system, args, args.chain)).some((each) => each.text === comparable(text));
  const run = async () => {
    const [verb, ...at] = await placeWords(system, args, place);
    const argv = ["nft", "--echo", "--handle", verb, "rule", ...placeOf(args), args.chain, ...at, text];
    const [, added = "", handle = ""] =
      /^(?:add|insert) rule \S+ \S+ \S+ (?:(?:handle|index|position) \d+ )?(.*?)\s*# handle (\d+)\s*$/m.exec(
        await succeed(system, "add the rule", argv),
      ) ?? [];
    if (handle === "" || comparable(added) === comparable(text)) return;
    // Otherwise each run would add it once more.
    await removeRule(system, args, args.chain, handle);
    throw new StateFailure(
      `nft lists the rule ${text} as ${beginningOf(added, 200)}: write the arguments like this`,
    );
  };
  const adding = exists ? [] : [{ changes: { [name]: { added: `${args.chain} ${text}` } }, run }];
  const saved = { wanted: args.save, file: bootFile(system) };
  return planRules(system, adding, saved, name, ["is in the chain", "would be added", "was added"]);
}

/** How nft takes a position: it counts from 0, and takes only the position of a rule that is there. */
async function placeWords(
  system: System,
  args: Where & { chain: string },
  place: number | "end",
): Promise<[verb: string, ...string[]]> {
  if (place === "end") return ["add"];
  if (place === 1) return ["insert"];
  const count = (await rulesOf(system, args, args.chain)).length;
  if (place > count + 1) {
    throw new StateFailure(
      `position: the chain ${args.chain} has ${count} rules, so it is at most ${count + 1}`,
    );
  }
  return place === count + 1 ? ["add"] : ["insert", "index", String(place - 1)];
}

function bootFile(system: System): BootFile {
  const isRedHat = system.fact("os_family") === "RedHat";
  return {
    path: isRedHat ? "/etc/sysconfig/nftables.conf" : "/etc/nftables.conf",
    list: ["nft", "list", "ruleset"],
    // A file of rules adds to what is there unless it removes that first.
    head: "#!/usr/sbin/nft -f\n\nflush ruleset\n\n",
  };
}

function nameProblem(args: RuleArgs, more: readonly string[]): string | undefined {
  const bad = ["table", ...more].find((each) => args[each] !== undefined && !isNftName(args[each]));
  return bad === undefined ? undefined : `${bad}: expected a name of letters, digits, _, /, . and -`;
}

/** @throws StateFailure for what nft would read as more than a name */
function nftName(name: string): string {
  if (isNftName(name)) return name;
  throw new StateFailure(`${quote(name, 60)} is not a name of a table or a chain`);
}

function familyOf({ family: of = "ipv4" }: Where): string {
  return of === "ipv4" ? "ip" : of === "ipv6" ? "ip6" : of;
}

const placeOf = (where: Where): [string, string] => [familyOf(where), where.table ?? "filter"];

/** The lines of a list; none where the table or the chain does not exist, which an earlier state may create. */
async function list(system: System, what: readonly string[]): Promise<string[]> {
  if (!system.has("nft")) throw new NotReady("nft is not installed on this host");
  const argv = ["nft", "--handle", "list", ...what];
  const { code, stdout, stderr } = await system.run(argv, { outputLimit: 8 * 1024 * 1024 });
  if (code !== 0 && /No such file or directory/.test(stderr)) return [];
  if (code !== 0)
    throw new StateFailure(`cannot list ${what.join(" ")}: ${stderr.trim().split("\n")[0] ?? ""}`);
  return stdout
    .split("\n")
    .map((line) => line.trim().replace(what[0] === "tables" ? /\s+# handle \d+$/ : /$^/, ""));
}

async function chainsOf(system: System, where: Where): Promise<string[]> {
  const lines = await list(system, ["table", ...placeOf(where)]);
  return lines.flatMap((line) => /^chain (\S+) \{/.exec(line)?.[1] ?? []);
}

async function rulesOf(
  system: System,
  where: Where,
  inChain: string,
): Promise<{ text: string; handle: string }[]> {
  // Of a chain alone nft does not take every name: `limits` is a word of its language there.
  const lines = await list(system, ["table", ...placeOf(where)]);
  const start = lines.findIndex((line) => line.startsWith(`chain ${inChain} {`)) + 1;
  const length = lines.slice(start).indexOf("}");
  if (start === 0 || length < 0) return [];
  return lines.slice(start, start + length).flatMap((line) => {
    const [, text, handle] = /^(.*\S)\s+# handle (\d+)$/.exec(line) ?? [];
    return text === undefined || handle === undefined ? [] : [{ text: comparable(text), handle }];
  });
}

async function removeRule(system: System, where: Where, inChain: string, handle: string): Promise<void> {
  const argv = ["nft", "delete", "rule", ...placeOf(where), inChain, "handle", handle];
  await succeed(system, "remove the rule", argv);
}
