import { quote } from "../../../base/cut.ts";
import { arg } from "../../../host/modules/mod.ts";
import { type System, succeed, systemOf } from "../../../host/system/system.ts";
import { defineState, StateFailure, type StateFunction } from "../../function/mod.ts";
import { deferring, NotReady } from "../not-ready.ts";
import { planSteps, type Step, says } from "../steps.ts";
import { comparableForward, comparableRule, comparableSource, covers, parseZone } from "./firewalld-zone.ts";

/** A list of a zone: its label in what firewalld prints, and how firewalld changes it. */
const lists = [
  { arg: "services", label: "services", add: "--add-service", remove: "--remove-service" },
  { arg: "ports", label: "ports", add: "--add-port", remove: "--remove-port" },
  { arg: "interfaces", label: "interfaces", add: "--change-interface", remove: "--remove-interface" },
  { arg: "sources", label: "sources", add: "--change-source", remove: "--remove-source" },
  { arg: "block_icmp", label: "icmp-blocks", add: "--add-icmp-block", remove: "--remove-icmp-block" },
  { arg: "port_fwd", label: "forward-ports", add: "--add-forward-port", remove: "--remove-forward-port" },
  { arg: "rich_rules", label: "rich rules", add: "--add-rich-rule", remove: "--remove-rich-rule" },
] as const;

/** What is written in more than one way compares in one. */
const comparables: Readonly<Record<string, (item: string) => string>> = {
  sources: comparableSource,
  port_fwd: comparableForward,
  rich_rules: comparableRule,
};

const prune = (what: string) => arg.boolean(`Removes other ${what} from the zone; false by default.`);

/** States of firewalld. */
export const firewalldStates: readonly StateFunction[] = deferring([
  defineState({
    name: "firewalld.present",
    doc: "Ensures that a zone exists and lets these through, now and after a reboot.",
    args: {
      default: arg.boolean("Makes it the default zone; false by default."),
      masquerade: arg.boolean("Whether the zone masquerades; unchanged by default."),
      services: arg.strings("Names of services, such as http."),
      prune_services: prune("services"),
      ports: arg.strings("Ports with protocol, such as 8080/tcp."),
      prune_ports: prune("ports"),
      port_fwd: arg.strings("Forwarded ports, such as 80:8080:tcp or 80:8080:tcp:10.0.0.2."),
      prune_port_fwd: prune("forwarded ports"),
      interfaces: arg.strings("Interfaces of the zone."),
      prune_interfaces: prune("interfaces"),
      sources: arg.strings("Source addresses and networks of the zone."),
      prune_sources: prune("sources"),
      rich_rules: arg.strings("Rules in the rich language."),
      prune_rich_rules: prune("rich rules"),
      block_icmp: arg.strings("Types of ICMP that are refused."),
      prune_block_icmp: prune("types of ICMP"),
    },
    refuse: (args) =>
      lists
        .flatMap(({ arg }) => args[arg] ?? [])
        .map((value) =>
          /^[^-\s\0][^\n\r\0]*$/.test(value) ? undefined : `${JSON.stringify(value)} is not valid`,
        )
        .find((problem) => problem !== undefined),
    async plan(name, args, context) {
      const system = systemOf(context);
      const zone = zoneName(name);
      const firewall = await openFirewall(system);
      const exists = (await firewall.query("--get-zones")).split(/\s+/).includes(zone);
      const inZone = (option: string) => firewall.change(`--zone=${zone}`, option);
      const steps: Step[] = [];
      if (!exists) {
        const create = () => firewall.change(`--new-zone=${zone}`);
        steps.push({ changes: { [zone]: "created" }, run: create });
      }
      // Each command of firewalld takes a while, so one query reads all.
      const zoneNow = exists ? parseZone(await firewall.query(`--zone=${zone}`, "--list-all")) : undefined;
      for (const { arg, label, add, remove } of lists) {
        const wanted = args[arg];
        if (wanted === undefined) continue;
        const now = zoneNow?.get(label) ?? [];
        const target = arg === "port_fwd" ? wanted.map(forwardPort) : wanted;
        const one = comparables[arg] ?? String;
        const isSame = (a: string, b: string) => one(a) === one(b);
        const removed =
          args[`prune_${arg}`] === true
            ? now.filter((each) => !target.some((other) => isSame(each, other)))
            : [];
        const kept = now.filter((each) => !removed.includes(each));
        const isThere = (each: string) =>
          kept.some((other) => isSame(each, other) || (arg === "ports" && covers(other, each)));
        const added = target.filter((each) => !isThere(each));
        if (added.length + removed.length === 0) continue;
        steps.push({
          changes: {
            [arg]: { old: now, new: [...kept, ...added] },
          },
          async run() {
            for (const each of removed) await inZone(`${remove}=${each}`);
            for (const each of added) await inZone(`${add}=${each}`);
          },
        });
      }
      const { masquerade } = args;
      if (masquerade !== undefined) {
        const now = zoneNow?.get("masquerade")?.[0] === "yes";
        if (now !== masquerade) {
          steps.push({
            changes: { masquerade: { old: now, new: masquerade } },
            run: () => inZone(masquerade ? "--add-masquerade" : "--remove-masquerade"),
          });
        }
      }
      if (steps.length > 0) steps.push({ changes: {}, run: () => firewall.reload() });
      if (args.default === true) {
        const now = (await firewall.queryNow("--get-default-zone")).trim();
        const run = () => firewall.setDefault(zone);
        if (now !== zone) steps.push({ changes: { default: { old: now, new: zone } }, run });
      }
      return planSteps(steps, says(`the zone ${zone}`, "changed", `the zone ${zone} is as requested`));
    },
  }),
  defineState({
    name: "firewalld.service",
    doc: "Ensures that a service exists with exactly these ports and protocols.",
    args: {
      ports: arg.strings("Ports with protocol, such as 8080/tcp."),
      protocols: arg.strings("Protocols, such as igmp."),
    },
    async plan(name, { ports, protocols }, context) {
      const firewall = await openFirewall(systemOf(context));
      const service = zoneName(name);
      const exists = (await firewall.query("--get-services")).split(/\s+/).includes(service);
      const steps: Step[] = exists
        ? []
        : [{ changes: { [service]: "created" }, run: () => firewall.change(`--new-service=${service}`) }];
      for (const [what, wanted] of Object.entries({ port: ports, protocol: protocols })) {
        if (wanted === undefined) continue;
        const text = exists ? await firewall.query(`--service=${service}`, `--get-${what}s`) : "";
        const now = text.split(/\s+/).filter((each) => each !== "");
        const added = wanted.filter((each) => !now.includes(each));
        const removed = now.filter((each) => !wanted.includes(each));
        if (added.length + removed.length === 0) continue;
        steps.push({
          changes: { [`${what}s`]: { old: now, new: wanted } },
          async run() {
            for (const each of removed)
              await firewall.change(`--service=${service}`, `--remove-${what}=${each}`);
            for (const each of added) await firewall.change(`--service=${service}`, `--add-${what}=${each}`);
          },
        });
      }
      if (steps.length > 0) steps.push({ changes: {}, run: () => firewall.reload() });
      return planSteps(
        steps,
        says(`the service ${service}`, "changed", `the service ${service} is as requested`),
      );
    },
  }),
]);

/** The permanent configuration of firewalld, whether the daemon runs or not. */
interface Firewall {
  query(...options: string[]): Promise<string>;
  /** Asks for what is not part of the permanent configuration. */
  queryNow(...options: string[]): Promise<string>;
  change(...options: string[]): Promise<void>;
  setDefault(zone: string): Promise<void>;
  /** Makes the daemon use the permanent configuration. */
  reload(): Promise<void>;
}

async function openFirewall(system: System): Promise<Firewall> {
  if (!system.has("firewall-cmd")) throw new NotReady("firewalld is not installed on this host");
  const isRunning = (await system.run(["firewall-cmd", "--state"])).code === 0;
  const now = [isRunning ? "firewall-cmd" : "firewall-offline-cmd"];
  const permanent = isRunning ? [...now, "--permanent"] : now;
  const run = (argv: readonly string[], options: readonly string[]) =>
    succeed(system, `use firewalld: ${options.join(" ")}`, [...argv, ...options]);
  return {
    query: (...options) => run(permanent, options),
    queryNow: (...options) => run(now, options),
    change: async (...options) => void (await run(permanent, isRunning ? options : options.map(offline))),
    setDefault: async (zone) => void (await run(now, [`--set-default-zone=${zone}`])),
    reload: async () => void (isRunning ? await run(now, ["--reload"]) : undefined),
  };
}

/** Without the daemon, `--remove-service` is an option of an older program, which takes no zone. */
function offline(option: string): string {
  return option.replace(/^--remove-service=/, "--remove-service-from-zone=");
}

function zoneName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(name)) return name;
  throw new StateFailure(`${quote(name)} is not a name that firewalld takes`);
}

/** `80:8080:tcp:10.0.0.2` as firewalld prints it. */
function forwardPort(written: string): string {
  // An IPv6 address contains colons.
  const [port = "", to = "", protocol = "", ...address] = written.split(":");
  return `port=${port}:proto=${protocol}:toport=${to}:toaddr=${address.join(":").replace(/^\[(.*)\]$/, "$1")}`;
}
