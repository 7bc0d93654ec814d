import { textOf } from "../../jinja/mod.ts";
import { Fault, type Value } from "../../jinja/values/mod.ts";
import { type SaltFunction, saltFunction } from "./function.ts";

/** Functions that compare versions; none looks at the host. */
export const versionFunctions: readonly SaltFunction[] = [
  saltFunction(
    "pkg.version_cmp",
    ["pkg1", "pkg2", "ignore_epoch?"],
    "Compares two versions as the packages of this host do: -1, 0 or 1.",
    ([one, other, ignoresEpoch], { facts }) => {
      const family = facts().get("os_family");
      const compare = family === "Debian" ? compareDebian : compareRpm;
      if (family !== "Debian" && family !== "RedHat" && family !== "Suse") {
        throw new Fault("pkg.version_cmp compares versions of Debian, RedHat and Suse alone");
      }
      const [a, b] = [one, other].map((each) => textOf(each as Value));
      const plain = (text = "") => (ignoresEpoch === true ? text.replace(/^\d+:/, "") : text);
      return Math.sign(compare(plain(a), plain(b)));
    },
  ),
];

interface Parts {
  epoch: number;
  upstream: string;
  revision: string;
}

function partsOf(version: string): Parts {
  const [, epoch = "0", upstream = "", revision = "0"] =
    /^(?:(\d+):)?(.*?)(?:-([^-]*))?$/.exec(version.trim()) ?? [];
  return { epoch: Number(epoch), upstream, revision };
}

/** As dpkg does: deb-version(7). */
function compareDebian(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  return a.epoch - b.epoch || compareMixed(a.upstream, b.upstream) || compareMixed(a.revision, b.revision);
}

/** Texts and numbers in turns: a tilde is before the end, and letters are before other characters. */
function compareMixed(one: string, other: string): number {
  // It begins with a text, which may be empty.
  const pieces = (text: string): string[] => [
    ...(/^\d/.test(text) ? [""] : []),
    ...(text.match(/\d+|\D+/g) ?? []),
  ];
  const [a, b] = [pieces(one), pieces(other)];
  const length = Math.max(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [x = "", y = ""] = [a[at], b[at]];
    const order = at % 2 === 1 ? compareNumbers(x, y) : compareTexts(x, y);
    if (order !== 0) return order;
  }
  return 0;
}

function compareNumbers(one: string, other: string): number {
  const [a, b] = [one, other].map((digits) => digits.replace(/^0+/, ""));
  if (a?.length !== b?.length) return (a?.length ?? 0) - (b?.length ?? 0);
  return (a ?? "") < (b ?? "") ? -1 : Number((a ?? "") > (b ?? ""));
}

function compareTexts(one: string, other: string): number {
  const weigh = (character: string | undefined) => {
    if (character === undefined) return 0;
    if (character === "~") return -1;
    return (/[A-Za-z]/.test(character) ? 0 : 256) + character.charCodeAt(0);
  };
  const length = Math.max(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const order = weigh(one[at]) - weigh(other[at]);
    if (order !== 0) return order;
  }
  return 0;
}

/** As rpm does: rpm-version(7). A release that one of them does not have is not compared. */
function compareRpm(one: string, other: string): number {
  const [a, b] = [partsOf(one), partsOf(other)];
  const hasRelease = [one, other].every((text) => /-[^-]*$/.test(text));
  return (
    a.epoch - b.epoch ||
    compareSegments(a.upstream, b.upstream) ||
    (hasRelease ? compareSegments(a.revision, b.revision) : 0)
  );
}

function compareSegments(one: string, other: string): number {
  const segments = (text: string): string[] => text.match(/[A-Za-z]+|\d+|[~^]/g) ?? [];
  const [a, b] = [segments(one), segments(other)];
  const length = Math.max(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [x, y] = [a[at], b[at]];
    if (x === y) continue;
    // A tilde is before the end, and a caret is behind it.
    if (x === "~" || y === "~") return x === "~" ? -1 : 1;
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1;
    if (x === "^" || y === "^") return x === "^" ? -1 : 1;
    const [isX, isY] = [/^\d/.test(x), /^\d/.test(y)];
    if (isX !== isY) return isX ? 1 : -1;
    const order = isX ? compareNumbers(x, y) : x < y ? -1 : 1;
    if (order !== 0) return order;
  }
  return 0;
}
