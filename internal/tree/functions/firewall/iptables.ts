import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import {
  defineState,
  type Plan,
  type StateContext,
  StateFailure,
  type StateFunction,
} from "../../function/mod.ts";
import { deferring, NotReady } from "../not-ready.ts";
import type { Step } from "../steps.ts";
import { isChainName, ruleArgs, ruleProblem, ruleWords } from "./iptables-rule.ts";
import { type BootFile, planRules, position, type RuleArgs, save } from "./packet-filter.ts";

const place = {
  table: arg.string("Table; filter by default.", { values: ["filter", "nat", "mangle", "raw", "security"] }),
  family: arg.string("Family of addresses; ipv4 by default.", { values: ["ipv4", "ipv6"] }),
} as const;
const chain = arg.string("Chain, such as INPUT.", { required: true });
const rule = { ...place, chain, save, ...ruleArgs } as const;

/** As Salt: what a rule does not know is an option of iptables, by its letter or its long name. */
const saltArgs = arg.any("An option of iptables without its dashes.");

type Where = { table?: string | undefined; family?: string | undefined };

/** States of rules in the packet filter. */
export const iptablesStates: readonly StateFunction[] = deferring([
  defineState({
    name: "iptables.append",
    doc: "Ensures that a rule is in a chain; it is added at the end.",
    args: rule,
    saltArgs,
    refuse: ruleProblem,
    plan: (name, args, context) => planRule(name, args, context, (words) => ["-A", ...words]),
  }),
  defineState({
    name: "iptables.insert",
    doc: "Ensures that a rule is in a chain; it is added at a position.",
    args: { ...rule, position },
    saltArgs,
    refuse: ruleProblem,
    plan: (name, args, context) =>
      planRule(name, args, context, ([inChain = "", ...words]) => [
        ...["-I", inChain, String(args.position ?? 1)],
        ...words,
      ]),
  }),
  defineState({
    name: "iptables.delete",
    doc: "Ensures that a rule is not in a chain.",
    args: rule,
    saltArgs,
    refuse: ruleProblem,
    async plan(name, args, context) {
      const { chain: inChain, table, family } = args;
      const words = [inChain, ...ruleWords(args)];
      const found = await hasRule(systemOf(context), { table, family }, words);
      const steps = found ? [stepOf(context, args, name, words, ["-D", ...words], "removed")] : [];
      return planned(context, steps, args, "is not in the chain", "would be removed", "was removed", name);
    },
  }),
  defineState({
    name: "iptables.set_policy",
    doc: "Ensures the policy of a built-in chain.",
    args: {
      ...place,
      chain,
      policy: arg.string("ACCEPT or DROP.", { required: true, values: ["ACCEPT", "DROP"] }),
      save,
    },
    async plan(name, args, context) {
      const { chain: inChain, policy } = args;
      const now = await policyOf(systemOf(context), args, inChain);
      const argv = [...programOf(args), "-P", chainName(inChain), policy];
      const run = async () => void (await succeed(systemOf(context), `set the policy of ${inChain}`, argv));
      const steps = now === policy ? [] : [{ changes: { [inChain]: { old: now ?? "", new: policy } }, run }];
      return planned(context, steps, args, "is the policy", "would be set", "was set", name);
    },
  }),
  defineState({
    name: "iptables.flush",
    doc: "Ensures that a chain, or without one every chain of the table, has no rules.",
    args: { ...place, chain: arg.string("Chain; all chains by default."), save },
    async plan(name, args, context) {
      const { chain: inChain } = args;
      const system = systemOf(context);
      const rules = (await listRules(system, args)).filter(
        (line) => line.startsWith("-A ") && (inChain === undefined || line.split(" ")[1] === inChain),
      );
      const argv = [...programOf(args), "-F", ...(inChain === undefined ? [] : [chainName(inChain)])];
      const run = async () => void (await succeed(system, "remove the rules", argv));
      const steps = rules.length === 0 ? [] : [{ changes: { [name]: { old: rules, new: [] } }, run }];
      return planned(context, steps, args, "has no rules", "would be emptied", "was emptied", name);
    },
  }),
  defineState({
    name: "iptables.chain_present",
    doc: "Ensures that a chain exists.",
    args: place,
    async plan(name, args, context) {
      const chains = await chainsOf(systemOf(context), args);
      const argv = [...programOf(args), "-N", chainName(name)];
      const run = async () => void (await succeed(systemOf(context), `create the chain ${name}`, argv));
      const steps = chains.includes(name) ? [] : [{ changes: { [name]: "created" }, run }];
      return planned(context, steps, {}, "exists", "would be created", "was created", name);
    },
  }),
  defineState({
    name: "iptables.chain_absent",
    doc: "Ensures that a chain does not exist. Its rules are removed with it.",
    args: place,
    async plan(name, args, context) {
      const chains = await chainsOf(systemOf(context), args);
      const run = async () => {
        const system = systemOf(context);
        await succeed(system, `empty the chain ${name}`, [...programOf(args), "-F", chainName(name)]);
        await succeed(system, `remove the chain ${name}`, [...programOf(args), "-X", chainName(name)]);
      };
      const steps = chains.includes(name) ? [{ changes: { [name]: "removed" }, run }] : [];
      return planned(context, steps, {}, "does not exist", "would be removed", "was removed", name);
    },
  }),
]);

async function planRule(
  name: string,
  args: RuleArgs & Where & { chain: string },
  context: StateContext,
  add: (words: readonly string[]) => string[],
): Promise<Plan> {
  const words = [args.chain, ...ruleWords(args)];
  const found = await hasRule(systemOf(context), args, words);
  const steps = found ? [] : [stepOf(context, args, name, words, add(words), "added")];
  return planned(context, steps, args, "is in the chain", "would be added", "was added", name);
}

function programOf({ table = "filter", family = "ipv4" }: Where): string[] {
  // It waits for another program that changes rules.
  return [family === "ipv6" ? "ip6tables" : "iptables", "-w", "10", "-t", table];
}

async function hasRule(system: System, where: Where, words: readonly string[]): Promise<boolean> {
  const [program = ""] = programOf(where);
  if (!system.has(program)) throw new NotReady(`${program} is not installed on this host`);
  const { code, stderr } = await system.run([...programOf(where), "-C", ...words]);
  // 1 is also the answer when the chain does not exist yet, which an earlier state may create; so is a target.
  if (code === 0 || code === 1) return code === 0;
  if (/Chain '.*' does not exist|Couldn't load target/.test(stderr)) return false;
  throw new StateFailure(`${program} does not accept the rule: ${stderr.trim().split("\n")[0] ?? ""}`);
}

async function listRules(system: System, where: Where): Promise<string[]> {
  const [program = ""] = programOf(where);
  if (!system.has(program)) throw new NotReady(`${program} is not installed on this host`);
  const options = { outputLimit: 8 * 1024 * 1024 };
  return (await succeed(system, "list the rules", [...programOf(where), "-S"], options)).trim().split("\n");
}

async function policyOf(system: System, where: Where, inChain: string): Promise<string | undefined> {
  const lines = await listRules(system, where);
  return lines.find((line) => line.startsWith(`-P ${inChain} `))?.split(" ")[2];
}

async function chainsOf(system: System, where: Where): Promise<string[]> {
  return (await listRules(system, where)).flatMap((line) => {
    const [option, name = ""] = line.split(" ");
    return option === "-N" || option === "-P" ? [name] : [];
  });
}

/** @throws StateFailure for what iptables would read as an option */
function chainName(name: string): string {
  if (isChainName(name)) return name;
  throw new StateFailure(`${quote(name, 60)} is not a name of a chain`);
}

function stepOf(
  context: StateContext,
  where: Where,
  name: string,
  words: readonly string[],
  change: readonly string[],
  what: string,
): Step {
  const argv = [...programOf(where), ...change];
  return {
    changes: { [name]: { [what]: words.join(" ") } },
    run: async () => void (await succeed(systemOf(context), "change the rules", argv)),
  };
}

/** Rules are written to the file of the boot after they were changed. */
function planned(
  context: StateContext,
  steps: readonly Step[],
  args: Where & { save?: unknown },
  fine: string,
  due: string,
  done: string,
  name: string,
): Plan {
  const system = systemOf(context);
  return planRules(system, steps, { wanted: args.save, file: bootFile(system, args) }, name, [
    fine,
    due,
    done,
  ]);
}

function bootFile(system: System, { family = "ipv4" }: Where): BootFile {
  const isSix = family === "ipv6";
  const path =
    system.fact("os_family") === "RedHat"
      ? `/etc/sysconfig/${isSix ? "ip6tables" : "iptables"}`
      : `/etc/iptables/rules.${isSix ? "v6" : "v4"}`;
  return { path, list: [isSix ? "ip6tables-save" : "iptables-save"] };
}
