import { canonicalNetwork } from "../../../base/names/ip-address.ts";

/** Words that continue the element before them. */
const continuing = new Set(["not", "limit"]);
/** Attributes of the rule, wherever they stand. */
const ofRule = /^(?:family|priority)=/;

/**
 * A rule of the rich language in one form that compares: firewalld prints it with quotes around each value, and in
 * an order of its own.
 */
export function comparableRule(rule: string): string {
  const elements: string[][] = [];
  for (const [word] of rule.matchAll(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g)) {
    const plain = word.replace(
      /"([^"]*)"|'([^']*)'/g,
      (_, double?: string, single?: string) => double ?? single ?? "",
    );
    const isAttribute = plain.includes("=") || continuing.has(plain.toLowerCase());
    const last = ofRule.test(plain) ? elements[0] : elements.at(-1);
    const attribute = plain.replace(
      /^((?:to-)?addr(?:ess)?)=(.*)$/s,
      (_, key: string, address: string) => `${key}=${canonicalNetwork(address)}`,
    );
    if (isAttribute && last !== undefined) last.push(attribute);
    else elements.push([plain]);
  }
  // Only the order of elements and of the attributes of each is free; a limit stays after its element.
  return elements
    .map(([name = "", ...attributes]) => [name, ...inOrder(attributes)].join(" "))
    .sort()
    .join("; ");
}

/** A source of a zone in one spelling; firewalld writes hardware addresses in capitals. */
export function comparableSource(source: string): string {
  return /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i.test(source) ? source.toUpperCase() : canonicalNetwork(source);
}

/** A forwarded port, as firewalld prints it, in one spelling. */
export function comparableForward(port: string): string {
  return port.replace(/(?<=:toaddr=).+$/, canonicalNetwork);
}

/** Sorts attributes up to a limit, and those of the limit. */
function inOrder(attributes: readonly string[]): string[] {
  const at = attributes.indexOf("limit");
  if (at < 0) return [...attributes].sort();
  return [...attributes.slice(0, at).sort(), "limit", ...attributes.slice(at + 1).sort()];
}

/** Whether the ports of a zone, such as `7000-7010/tcp`, contain others; firewalld then does not add those. */
export function covers(ports: string, others: string): boolean {
  const [outer, inner] = [rangeOf(ports), rangeOf(others)];
  return outer.protocol === inner.protocol && outer.first <= inner.first && outer.last >= inner.last;
}

function rangeOf(ports: string): { first: number; last: number; protocol: string } {
  const [, first = "", last = first, protocol = ""] = /^(\d+)(?:-(\d+))?\/(\w+)$/.exec(ports) ?? [];
  // What is not a number covers nothing.
  return { first: Number(first || Number.NaN), last: Number(last || Number.NaN), protocol };
}

/** What a zone has, by label, from `--list-all`: items of one line, or of the lines below it that begin with a tab. */
export function parseZone(text: string): Map<string, string[]> {
  const zone = new Map<string, string[]>();
  let items: string[] = [];
  for (const line of text.split("\n")) {
    const [, label, rest = ""] = /^ {2}([a-z][a-z -]*):(.*)$/.exec(line) ?? [];
    if (label !== undefined) {
      // An older firewalld prints the first rule behind the label; a rule contains spaces.
      items =
        label === "rich rules" && rest.trim() !== ""
          ? [rest.trim()]
          : rest.split(" ").filter((each) => each !== "");
      zone.set(label, items);
    } else if (line.startsWith("\t")) items.push(line.trim());
  }
  return zone;
}
