import { canonicalAddress } from "../../base/names/ip-address.ts";

/** The path of hosts(5). */
export const hostsPath = "/etc/hosts";

/** Host names by canonical address, in the order of the file. */
export function parseHosts(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address, ...names] = wordsOf(line);
    if (address === undefined) continue;
    const key = canonicalAddress(address);
    const known = found.get(key) ?? [];
    found.set(key, [...known, ...names.filter((name) => !known.includes(name))]);
  }
  return found;
}

/** Adds a name to an address: on its last line, or on a new line. */
export function withHost(text: string, address: string, name: string): string {
  const lines = linesOf(text);
  const at = lines.findLastIndex((line) => isOf(line, address));
  if (at === -1) return formatLines([...lines, `${address}\t\t${name}`]);
  const [, body = "", comment = ""] = /^([^#]*?)\s*(#.*)?$/.exec(lines[at] ?? "") ?? [];
  lines[at] = `${body} ${name}${comment === "" ? "" : ` ${comment}`}`;
  return formatLines(lines);
}

/** Removes a name from an address; a line without names is removed. */
export function withoutHost(text: string, address: string, name: string): string {
  return formatLines(
    linesOf(text).flatMap((line) => {
      const [at, ...names] = wordsOf(line);
      if (!isOf(line, address) || !names.includes(name)) return [line];
      const left = names.filter((each) => each !== name);
      const comment = /#.*$/.exec(line)?.[0];
      return left.length === 0
        ? []
        : [`${at}\t\t${left.join(" ")}${comment === undefined ? "" : ` ${comment}`}`];
    }),
  );
}

/** Sets the names of an address, in this order, on one line. */
export function withOnlyHosts(text: string, address: string, names: readonly string[]): string {
  const lines = linesOf(text);
  const at = lines.findIndex((line) => isOf(line, address));
  const others = lines.filter((line, index) => index === at || !isOf(line, address));
  const mine = `${wordsOf(lines[at] ?? "")[0] ?? address}\t\t${names.join(" ")}`;
  if (names.length === 0) return formatLines(others.filter((_, index) => index !== at));
  if (at === -1) return formatLines([...others, mine]);
  return formatLines(others.map((line, index) => (index === at ? mine : line)));
}

function isOf(line: string, address: string): boolean {
  const [own] = wordsOf(line);
  return own !== undefined && canonicalAddress(own) === canonicalAddress(address);
}

function wordsOf(line: string): string[] {
  return line
    .replace(/#.*$/, "")
    .split(/\s+/)
    .filter((word) => word !== "");
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function formatLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
