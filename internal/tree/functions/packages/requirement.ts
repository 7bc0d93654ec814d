/** A package as pip takes it: `toml`, `pygit2 == 1.2`, `requests[socks]>=2,<3`. */
export interface Requirement {
  /** In the form that compares: lower case, with - between words. */
  name: string;
  clauses: readonly { operator: string; version: string }[];
}

/** Parses a requirement; `undefined` for addresses, paths and what depends on the platform. */
export function parseRequirement(text: string): Requirement | undefined {
  const [, name, rest = ""] =
    /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[A-Za-z0-9._,\s-]*\])?\s*\(?([^()]*)\)?$/.exec(
      text.trim(),
    ) ?? [];
  if (name === undefined) return undefined;
  const clauses: { operator: string; version: string }[] = [];
  for (const clause of rest.split(",").filter((each) => each.trim() !== "")) {
    const [, operator, version] =
      /^\s*(===|==|~=|!=|<=|>=|<|>)\s*([A-Za-z0-9.*+!_-]+)\s*$/.exec(clause) ?? [];
    if (operator === undefined || version === undefined) return undefined;
    clauses.push({ operator, version });
  }
  return { name: normalName(name), clauses };
}

/** Names that differ only in case and in the marks between words are one package. */
export function normalName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, "-");
}

/** Whether a version is what the requirement asks for, as PEP 440 compares. */
export function isSatisfied({ clauses }: Requirement, version: string): boolean {
  return clauses.every(({ operator, version: wanted }) => fits(operator, version, wanted));
}

function fits(operator: string, version: string, wanted: string): boolean {
  if (operator === "===") return version === wanted;
  if (wanted.endsWith(".*")) {
    const isSame = startsWith(version, wanted.slice(0, -2));
    return operator === "!=" ? !isSame : operator === "==" && isSame;
  }
  const order = compare(
    keyOf(version),
    keyOf(operator === "==" || operator === "!=" ? withLocal(wanted, version) : wanted),
  );
  switch (operator) {
    case "==":
      return order === 0;
    case "!=":
      return order !== 0;
    case "<=":
      return order <= 0;
    case ">=":
      return order >= 0;
    case "<":
      return order < 0;
    case ">":
      return order > 0;
    default:
      // ~= 1.4.2 is >= 1.4.2 and == 1.4.*
      return order >= 0 && startsWith(version, wanted.split(".").slice(0, -1).join("."));
  }
}

/** A local part, as in 1.2+debian1, counts only where it is asked for. */
function withLocal(wanted: string, version: string): string {
  return wanted.includes("+") || !version.includes("+")
    ? wanted
    : `${wanted}${version.slice(version.indexOf("+"))}`;
}

function startsWith(version: string, prefix: string): boolean {
  const [all, start] = [keyOf(version).release, keyOf(prefix).release];
  return start.every((each, at) => (all[at] ?? 0) === each);
}

interface Key {
  epoch: number;
  release: number[];
  /** Orders what comes before and after the release: dev, a, b, rc, the release itself, post. */
  phase: number[];
  local: string;
}

function keyOf(text: string): Key {
  const [public_ = "", local = ""] = text.toLowerCase().replace(/^v/, "").split("+");
  const [, epoch = "0", release = "0", pre, preNumber, post, dev] =
    /^(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[._-]?(a|alpha|b|beta|c|rc|pre|preview)[._-]?(\d*))?(?:[._-]?(?:post|rev|r)[._-]?(\d*)|-\d+)?(?:[._-]?dev[._-]?(\d*))?$/.exec(
      public_,
    ) ?? [];
  const numbers = release.split(".").map(Number);
  while (numbers.length > 1 && numbers.at(-1) === 0) numbers.pop();
  const stage =
    pre === undefined ? undefined : "abcrp".includes(pre[0] ?? "") ? ({ a: 1, b: 2 }[pre[0] ?? ""] ?? 3) : 3;
  // A version under development comes before what it leads to.
  const first = stage ?? (dev !== undefined && post === undefined ? 0 : 4);
  const phase = [
    first,
    Number(preNumber || 0),
    post === undefined ? -1 : Number(post || 0),
    dev === undefined ? Number.POSITIVE_INFINITY : Number(dev || 0),
  ];
  return { epoch: Number(epoch), release: numbers, phase, local };
}

function compare(one: Key, other: Key): number {
  return (
    one.epoch - other.epoch ||
    compareLists(one.release, other.release) ||
    compareLists(one.phase, other.phase) ||
    (one.local < other.local ? -1 : one.local > other.local ? 1 : 0)
  );
}

function compareLists(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const [left, right] = [one[at] ?? 0, other[at] ?? 0];
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}
