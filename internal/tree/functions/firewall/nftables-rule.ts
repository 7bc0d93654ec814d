import type { Plain } from "../../../base/msgpack.ts";
import { canonicalNetwork } from "../../../base/names/ip-address.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { matchArgs, type RuleArgs } from "./packet-filter.ts";

/** What a rule is made of. */
export const ruleArgs = {
  ...matchArgs,
  match: arg.any("Has no effect: nftables needs no extension."),
  connstate: arg.any("States of connections, such as new,established."),
  "icmp-type": arg.any("Type of ICMP packets, such as echo-request."),
  counter: arg.boolean("Counts packets; false by default."),
  "log-prefix": arg.any("Logs packets with this prefix."),
  comment: arg.any("Comment of the rule."),
  jump: arg.any("What happens: accept, drop, reject, return, masquerade, or the name of a chain."),
  goto: arg.any("Chain to continue with, without coming back."),
} as const satisfies Readonly<Record<string, ArgSpec>>;

const verdicts = new Set(["accept", "drop", "continue", "return", "queue", "reject", "masquerade"]);
const protocols = /^(?:tcp|udp|udplite|sctp|dccp)$/;
const port = /^\d{1,5}(?:[-:]\d{1,5})?$/;
const word = /^[a-z][a-z0-9-]*$/;
/** What each argument takes: nft reads its words as a language, so nothing else may be in them. */
const forms: Readonly<Record<string, { form: RegExp; expected: string }>> = {
  protocol: { form: /^[a-z0-9-]+$/i, expected: "a protocol, such as tcp" },
  if: { form: /^[\w.:@-]{1,15}$/, expected: "an interface, such as eth0" },
  of: { form: /^[\w.:@-]{1,15}$/, expected: "an interface, such as eth0" },
  source: { form: /^[0-9A-Fa-f.:]+(?:\/\d{1,3})?$/, expected: "an address or a network" },
  destination: { form: /^[0-9A-Fa-f.:]+(?:\/\d{1,3})?$/, expected: "an address or a network" },
  sport: { form: port, expected: "a port as a number, or a range such as 1024:65535" },
  dport: { form: port, expected: "a port as a number, or a range such as 1024:65535" },
  sports: { form: port, expected: "ports as numbers" },
  dports: { form: port, expected: "ports as numbers" },
  connstate: {
    form: /^(?:new|established|related|invalid|untracked)$/i,
    expected: "states such as established",
  },
  "icmp-type": { form: word, expected: "a type, such as echo-request" },
  "log-prefix": { form: /^[^"\\\p{Cc}]{1,127}$/u, expected: 'at most 127 characters without "' },
  comment: { form: /^[^"\\\p{Cc}]{1,127}$/u, expected: 'at most 127 characters without "' },
  jump: { form: /^[A-Za-z_][\w/.-]*$/, expected: "accept, drop, or the name of a chain" },
  goto: { form: /^[A-Za-z_][\w/.-]*$/, expected: "the name of a chain" },
};
/** A comma in them does not separate values. */
const whole = new Set(["log-prefix", "comment"]);

/** Whether nft takes a name for a table or a chain. */
export function isNftName(name: unknown): boolean {
  return typeof name === "string" && /^[A-Za-z_][\w/.-]{0,126}$/.test(name);
}

/** Why a rule cannot be written, or `undefined`. */
export function ruleProblem(args: RuleArgs): string | undefined {
  if (!isNftName(args.chain)) return "chain: expected the name of a chain, such as input";
  if (args.table !== undefined && !isNftName(args.table)) return "table: expected the name of a table";
  const values = valuesOf(args);
  for (const [name, items] of values) {
    const known = forms[name];
    const isFine = items.length > 0 && items.every((item) => known?.form.test(bare(item)) === true);
    if (!isFine) return `${name}: expected ${known?.expected ?? "a text"}`;
  }
  const needs = ["sport", "dport", "sports", "dports"].find((name) => values.has(name));
  if (needs !== undefined && !protocols.test(protocolOf(values) ?? "")) {
    return `${needs}: needs protocol: tcp, udp, udplite, sctp or dccp`;
  }
  return undefined;
}

/** A rule in the language of nft, as it lists rules. Call it for what has no problem. */
export function ruleText(args: RuleArgs): string {
  const values = valuesOf(args);
  const protocol = protocolOf(values);
  const at = (name: string, before: string) => {
    const items = values.get(name);
    return items === undefined ? [] : [`${before} ${operand(items)}`];
  };
  const text = (name: string, before: string) => {
    const [item] = values.get(name) ?? [];
    return item === undefined ? [] : [`${before} "${item}"`];
  };
  const ip = (name: string, side: string) =>
    at(name, `${values.get(name)?.some((item) => item.includes(":")) ? "ip6" : "ip"} ${side}`);
  const ports = ["sport", "dport", "sports", "dports"].some((name) => values.has(name));
  const icmp = protocol?.includes("v6") || args.family === "ipv6" ? "icmpv6" : "icmp";
  const named = (name: string, items = values.get(name)) =>
    items === undefined ? [] : [bare(items[0] ?? "")];
  return [
    ...text("if", "iifname"),
    ...text("of", "oifname"),
    ...ip("source", "saddr"),
    ...ip("destination", "daddr"),
    ...(ports || values.has("icmp-type") ? [] : at("protocol", "meta l4proto")),
    ...at("sport", `${protocol} sport`),
    ...at("sports", `${protocol} sport`),
    ...at("dport", `${protocol} dport`),
    ...at("dports", `${protocol} dport`),
    ...at("icmp-type", `${icmp} type`),
    ...at("connstate", "ct state"),
    ...(args.counter === true ? ["counter"] : []),
    ...text("log-prefix", "log prefix"),
    ...named("jump").map((to) => (verdicts.has(to.toLowerCase()) ? to.toLowerCase() : `jump ${to}`)),
    ...named("goto").map((to) => `goto ${to}`),
    ...text("comment", "comment"),
  ].join(" ");
}

/** A rule in the one form that compares: without what was counted, addresses in one spelling, and sets in one order. */
export function comparable(rule: string): string {
  const plain = rule
    .replace(/\s+# handle \d+\s*$/, "")
    .replace(/counter packets \d+ bytes \d+/g, "counter")
    .replace(/reject with icmp(?:x|v6)?(?: type)? port-unreachable/g, "reject")
    .replace(/\b(ip6?) protocol\b/g, "meta l4proto")
    .replace(/\{\s*([^{}"]*?)\s*\}/g, (_, items: string) => items.replace(/\s*,\s*/g, ","));
  return plain
    .split(/("[^"]*")/)
    .map((part) =>
      part.startsWith('"')
        ? part
        : part
            .replace(/(?<![^\s,])[0-9a-f.:]+(?:\/\d+)?(?![^\s,])/gi, canonicalNetwork)
            .replace(/[^\s,]+(?:,[^\s,]+)+/g, (list) => list.split(",").sort().join(","))
            .replace(/\s+/g, " "),
    )
    .join("")
    .trim();
}

function valuesOf(args: RuleArgs): Map<string, string[]> {
  const { proto, ...rest } = Object.fromEntries(
    Object.entries(args).filter(
      ([name, value]) => (name === "proto" || Object.hasOwn(forms, name)) && value !== null,
    ),
  );
  const all = { ...(proto === undefined ? {} : { protocol: proto }), ...rest };
  return new Map(
    Object.entries(all).flatMap(([name, value]): [string, string[]][] =>
      value === undefined ? [] : [[name, itemsOf(name, value)]],
    ),
  );
}

function itemsOf(name: string, value: Plain): string[] {
  const items = Array.isArray(value) ? value : [value];
  const isText = items.every((item) => typeof item === "string" || typeof item === "number");
  if (!isText) return [];
  const texts = items.map(String);
  if (whole.has(name)) return texts.length === 1 ? texts : [];
  return texts.flatMap((text) => text.split(",")).map((text) => portRange(name, text.trim()));
}

const portRange = (name: string, text: string) => (/port/.test(name) ? text.replace(":", "-") : text);
const protocolOf = (values: ReadonlyMap<string, string[]>) => values.get("protocol")?.[0]?.toLowerCase();

/** Without its negation. */
function bare(item: string): string {
  return item.replace(/^(?:!=?|not\s)\s*/, "");
}

function operand(items: readonly string[]): string {
  const isNegated = items.some((item) => bare(item) !== item);
  const plain = items.map((item) => bare(item).toLowerCase());
  const set = plain.length === 1 ? (plain[0] ?? "") : `{ ${plain.join(", ")} }`;
  return isNegated ? `!= ${set}` : set;
}
