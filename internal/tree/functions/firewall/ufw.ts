import { isIP } from "node:net";
import { beginningOf, quote } from "../../../base/cut.ts";
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
import { planSteps, says } from "../steps.ts";

const rulesPaths = ["/etc/ufw/user.rules", "/etc/ufw/user6.rules"];
const policiesPath = "/etc/default/ufw";
const policies: Readonly<Record<string, string>> = { allow: "ACCEPT", deny: "DROP", reject: "REJECT" };
const ruleArgs = {
  app: arg.any("Application profile, such as OpenSSH; without interface, protocol and ports."),
  interface: arg.any("Interface that packets arrive at."),
  protocol: arg.any("Protocol, such as tcp; also needed for several ports."),
  from_addr: arg.any("Source address or network; any by default."),
  from_port: arg.any("Source port, or several, such as 80,443 or 6000:6007."),
  to_addr: arg.any("Destination address or network; any by default."),
  to_port: arg.any("Destination port, or several."),
  comment: arg.any("Comment of a new rule."),
} as const;

type RuleArgs = Readonly<Record<keyof typeof ruleArgs, unknown>>;

/** States of the uncomplicated firewall, as the formula of this name has them. */
export const ufwStates: readonly StateFunction[] = deferring([
  ruleState("allow", "allow", "Ensures a rule that lets packets in."),
  ruleState("allowed", "allow", "Ensures a rule that lets packets in."),
  ruleState("deny", "deny", "Ensures a rule that drops packets."),
  ruleState("reject", "reject", "Ensures a rule that refuses packets with an answer."),
  ruleState("limit", "limit", "Ensures a rule that lets only some new connections of an address in."),
  switchState("enabled", true, "Ensures that the firewall is active, now and after a reboot."),
  switchState("disabled", false, "Ensures that the firewall is not active."),
  defaultState("incoming", "DEFAULT_INPUT_POLICY"),
  defaultState("outgoing", "DEFAULT_OUTPUT_POLICY"),
]);

function ruleState(verb: string, action: string, doc: string): StateFunction {
  return defineState({
    name: `ufw.${verb}`,
    doc,
    args: ruleArgs,
    refuse: (args) => ruleProblem(args as RuleArgs),
    plan: (name, args, context) =>
      planRule(name, [action, ...ruleWords(args as RuleArgs)], args.comment, context),
  });
}

async function planRule(
  name: string,
  rule: string[],
  comment: unknown,
  context: StateContext,
): Promise<Plan> {
  const system = openUfw(context);
  const { code, stdout, stderr } = await system.run(["ufw", "--dry-run", ...rule], {
    outputLimit: 1024 * 1024,
  });
  const reason = (stderr.trim() || stdout.trim()).split("\n")[0]?.replace(/^ERROR: /, "") ?? "";
  // An earlier state may write the profile.
  if (code !== 0 && /Could not find a profile/.test(reason)) throw new NotReady(reason);
  if (code !== 0) throw new StateFailure(`ufw does not accept the rule: ${beginningOf(reason, 300)}`);
  // Unless it has the rule, it prints all rules that it would have. A rule stands without its comment in them.
  const now = new Set(rulesPaths.flatMap((path) => tuplesIn(system.read(path) ?? "")));
  const isNew = tuplesIn(stdout).some((each) => !now.has(each));
  const unsupported = /^Skipping unsupported .*$/m.exec(stdout)?.[0];
  if (!isNew && unsupported !== undefined && !/^Skipping adding existing rule/m.test(stdout)) {
    throw new StateFailure(`ufw does not accept the rule: ${unsupported}`);
  }
  const said = textOf(comment);
  const argv = ["ufw", ...rule, ...(said === undefined ? [] : ["comment", said])];
  const run = async () => void (await succeed(system, `add the rule ${name}`, argv));
  return planSteps(
    !isNew ? [] : [{ changes: { [name]: { added: rule.join(" ") } }, run }],
    says(`${name}: the rule`, "added", `${name}: the rule exists`),
  );
}

/** The rules in a file of ufw, or in what it prints, in its own short form. */
function tuplesIn(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => /^### tuple ### (.*?)(?: comment=[0-9a-f]+)?$/.exec(line)?.[1] ?? []);
}

function switchState(verb: string, on: boolean, doc: string): StateFunction {
  return defineState({
    name: `ufw.${verb}`,
    doc,
    args: {},
    async plan(name, _, context) {
      const system = openUfw(context);
      const isActive = /^Status: active/m.test(
        await succeed(system, "look at the firewall", ["ufw", "status"]),
      );
      const run = async () =>
        void (await succeed(system, `make it ${verb}`, ["ufw", "--force", on ? "enable" : "disable"]));
      return planSteps(
        isActive === on ? [] : [{ changes: { [name]: { old: isActive, new: on } }, run }],
        says("the firewall", verb, `the firewall is ${verb}`),
      );
    },
  });
}

function defaultState(direction: string, variable: string): StateFunction {
  return defineState({
    name: `ufw.default_${direction}`,
    doc: `Ensures what happens to ${direction} packets without a rule.`,
    args: {
      default: arg.string("What happens: allow, deny or reject.", {
        required: true,
        values: Object.keys(policies),
      }),
    },
    async plan(name, { default: wanted }, context) {
      const system = openUfw(context);
      const now = new RegExp(`^${variable}="?(\\w+)"?`, "m").exec(system.read(policiesPath) ?? "")?.[1];
      const run = async () =>
        void (await succeed(system, "set the default", ["ufw", "default", wanted, direction]));
      const isSame = now === policies[wanted];
      return planSteps(
        isSame ? [] : [{ changes: { [name]: { old: now ?? "", new: policies[wanted] ?? "" } }, run }],
        {
          fine: `${direction} packets: ${wanted}`,
          due: `${direction} packets: would be ${wanted}`,
          done: `${direction} packets: ${wanted} now`,
        },
      );
    },
  });
}

/** @throws NotReady when ufw is not installed */
function openUfw(context: StateContext): System {
  const system = systemOf(context);
  if (system.has("ufw")) return system;
  throw new NotReady("ufw is not installed on this host");
}

function ruleWords(args: RuleArgs): string[] {
  const text = (name: keyof RuleArgs) => textOf(args[name]);
  const [app, device, protocol] = [text("app"), text("interface"), text("protocol")];
  const from = [text("from_addr") ?? "any", ...portWords(text("from_port"))];
  const to = [text("to_addr") ?? "any", ...portWords(text("to_port"))];
  if (app !== undefined && app !== "*") return ["from", from[0] ?? "any", "to", to[0] ?? "any", "app", app];
  const onDevice = device === undefined ? [] : ["in", "on", device];
  return [...onDevice, ...(protocol === undefined ? [] : ["proto", protocol]), "from", ...from, "to", ...to];
}

function portWords(port: string | undefined): string[] {
  return port === undefined || port === "*" || port === "any" ? [] : ["port", port];
}

function ruleProblem(args: RuleArgs): string | undefined {
  const forms: Partial<Record<keyof RuleArgs, RegExp>> = {
    app: /^(?:\*|[A-Za-z0-9][\w .+-]*)$/,
    interface: /^[A-Za-z0-9][\w.:@-]{0,30}$/,
    protocol: /^[a-z0-9]+$/,
    from_port: /^(?:\*|any|\d+(?:[,:]\d+)*)$/,
    to_port: /^(?:\*|any|\d+(?:[,:]\d+)*)$/,
    comment: /^[^\n\r\0']*$/,
  };
  for (const [name, form] of Object.entries(forms)) {
    const text = textOf(args[name as keyof RuleArgs]);
    if (text !== undefined && !form.test(text)) return `${name}: ${quote(text, 40)} is not valid`;
  }
  for (const name of ["from_addr", "to_addr"] as const) {
    const [address = "", mask = "0"] = (textOf(args[name]) ?? "any").split("/");
    const isMask = /^\d{1,3}$/.test(mask) || (isIP(address) === 4 && isIP(mask) === 4);
    if (address !== "any" && (isIP(address) === 0 || !isMask)) {
      return `${name}: expected an address or a network; names of hosts are not resolved`;
    }
  }
  return undefined;
}

/** The formula quotes texts for the shell that its own module runs. */
function textOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : String(value).replace(/^"(.*)"$/, "$1");
}
