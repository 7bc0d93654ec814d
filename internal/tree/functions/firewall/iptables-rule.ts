import { quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { matchArgs, type RuleArgs } from "./packet-filter.ts";

/** What a rule is made of, in the order of its words; other options of iptables are in `options`. */
export const ruleArgs = {
  ...matchArgs,
  match: arg.any("Extensions to load, such as state or [state, comment]."),
  connstate: arg.any("States of connections, such as NEW,ESTABLISHED; with match: state or conntrack."),
  ctstate: arg.any("States of connections for match: conntrack."),
  "icmp-type": arg.any("Type of ICMP packets, such as echo-request."),
  "tcp-flags": arg.any("Flags of TCP packets, such as SYN,ACK SYN."),
  "match-set": arg.any("A set and its directions, such as blocked src."),
  limit: arg.any("Average rate, such as 5/min; with match: limit."),
  "limit-burst": arg.any("Packets before the limit applies."),
  comment: arg.any("Comment of the rule."),
  options: arg.map("Further options of iptables by name without --, such as {uid-owner: 1000}."),
  jump: arg.any("Target of the rule, such as ACCEPT or the name of a chain."),
  goto: arg.any("Chain to continue with, without coming back."),
  "reject-with": arg.any("Answer of the target REJECT."),
  "log-prefix": arg.any("Prefix of the target LOG."),
  "log-level": arg.any("Level of the target LOG."),
  "to-port": arg.any("Port of the target REDIRECT."),
  "to-ports": arg.any("Ports of the targets REDIRECT and MASQUERADE."),
  "to-source": arg.any("Address of the target SNAT."),
  "to-destination": arg.any("Address of the target DNAT."),
  "set-mark": arg.any("Mark of the target MARK."),
} as const satisfies Readonly<Record<string, ArgSpec>>;

/** Options of targets come after `--jump`, as iptables reads them. */
const ofTarget = new Set([
  ...[
    "reject-with",
    "log-prefix",
    "log-level",
    "to-port",
    "to-ports",
    "to-source",
    "to-destination",
    "set-mark",
  ],
]);
const flags: Readonly<Record<string, string>> = {
  ...{ protocol: "-p", if: "-i", of: "-o", source: "-s", destination: "-d", jump: "-j", goto: "-g" },
  ...{ sports: "--sports", dports: "--dports", connstate: "--state" },
};
const withPorts = new Set(["tcp", "udp", "sctp", "dccp", "udplite"]);

/** Whether iptables cannot take a name for an option. */
export function isChainName(name: string): boolean {
  return /^[A-Za-z0-9_][^\s\0]{0,27}$/.test(name);
}

/** Why a rule cannot be written, or `undefined`. */
export function ruleProblem(args: RuleArgs): string | undefined {
  if (typeof args.chain !== "string" || !isChainName(args.chain))
    return "chain: expected a chain, such as INPUT";
  for (const [name, value] of valuesOf(args)) {
    const text = wordOf(value);
    if (text === undefined || text === "") return `${name}: expected a text, a number, or a list of them`;
    if (/[\n\r\0]/.test(text)) return `${name}: must not contain a line break`;
  }
  const bad = valuesOf(args).find(([name]) => !/^[a-z][a-z0-9-]*$/.test(name))?.[0];
  return bad === undefined ? undefined : `${quote(bad, 40)} is not an option of iptables`;
}

/** The words of a rule after the name of its chain. Each value is one word, which no shell reads. */
export function ruleWords(args: RuleArgs): string[] {
  const values = new Map(valuesOf(args));
  const protocol = wordOf(values.get("protocol") ?? null);
  const names = [...values.keys()];
  const extensions = extensionsOf(values, protocol);
  const head = ["protocol", "if", "of", "source", "destination"];
  const last = ["jump", "goto", ...ofTarget];
  const words = (name: string) => optionWords(name, wordOf(values.get(name) ?? null) ?? "", extensions);
  return [
    ...head.filter((name) => values.has(name)).flatMap(words),
    ...extensions.flatMap((each) => ["-m", each]),
    ...names.filter((name) => ![...head, ...last, "match"].includes(name)).flatMap(words),
    ...last.filter((name) => values.has(name)).flatMap(words),
  ];
}

/** Where a rule is, which its words do not say. */
const ofPlace = new Set(["chain", "table", "family", "save", "position", "name"]);
/** Options by their letters, and by other names that Salt hands on. */
const sameAs: Readonly<Record<string, string>> = {
  ...{ i: "if", o: "of", p: "protocol", s: "source", d: "destination", j: "jump", g: "goto", m: "match" },
  ...{ "in-interface": "if", "out-interface": "of" },
};

function valuesOf(args: RuleArgs): [string, Plain][] {
  const others = Object.keys(args).filter((name) => !Object.hasOwn(ruleArgs, name) && !ofPlace.has(name));
  const { options, proto, ...rest } = Object.fromEntries(
    [...Object.keys(ruleArgs), ...others].flatMap((name) => {
      const value = args[name];
      const canonical = Object.hasOwn(sameAs, name) ? (sameAs[name] ?? name) : name;
      return value === undefined || value === null ? [] : [[canonical, value]];
    }),
  );
  return Object.entries({
    ...(proto === undefined ? {} : { protocol: proto }),
    ...rest,
    ...(options as { [name: string]: Plain } | undefined),
  });
}

/** Extensions in the order of their first use: those that are named, and those that an option needs. */
function extensionsOf(values: ReadonlyMap<string, Plain>, protocol: string | undefined): string[] {
  const named = (wordOf(values.get("match") ?? null) ?? "").split(",").filter((each) => each !== "");
  const isPort = values.has("sport") || values.has("dport") || values.has("tcp-flags");
  return [
    ...new Set([
      ...(isPort && protocol !== undefined && withPorts.has(protocol) ? [protocol] : []),
      ...named,
      ...(values.has("icmp-type") ? ["icmp"] : []),
      ...(values.has("sports") || values.has("dports") ? ["multiport"] : []),
      ...(values.has("connstate") && !named.includes("conntrack") ? ["state"] : []),
      ...(values.has("ctstate") ? ["conntrack"] : []),
      ...(values.has("match-set") ? ["set"] : []),
      ...(values.has("limit") ? ["limit"] : []),
      ...(values.has("comment") ? ["comment"] : []),
    ]),
  ];
}

/** `!` and `not` before a value negate the option. */
function optionWords(name: string, text: string, extensions: readonly string[]): string[] {
  const [, negation, value = ""] = /^(!\s*|not\s+)?(.*)$/s.exec(name === "comment" ? ` ${text}` : text) ?? [];
  const conntrack = name === "connstate" && extensions.includes("conntrack");
  const own = Object.hasOwn(flags, name) ? flags[name] : undefined;
  const flag = conntrack ? "--ctstate" : (own ?? (name.length === 1 ? `-${name}` : `--${name}`));
  const isSeveral = name === "match-set" || name === "tcp-flags";
  // The space at the end of a prefix separates it from what is logged.
  const one = name === "comment" ? text : name === "log-prefix" ? value : value.trim();
  const words = isSeveral ? value.trim().split(/\s+/) : [one];
  return [...(negation === undefined ? [] : ["!"]), flag, ...words];
}

function wordOf(value: Plain): string | undefined {
  if (Array.isArray(value)) {
    const words = value.map(wordOf);
    return words.every((word) => word !== undefined) ? words.join(",") : undefined;
  }
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : undefined;
}
