import { asInteger, asText, take } from "./arguments.ts";
import type { Filter } from "./frame.ts";
import { escapeHtml } from "./html.ts";
import { textOf } from "./text.ts";
import { Fault, iterate, truthy } from "./values/mod.ts";

const label = "[\\p{L}\\p{N}_%-]";
const address = new RegExp(
  `^(?:(?:https?://|www\\.)(?:${label}+\\.)*(?:[a-z]{2,63}|xn--[\\p{L}\\p{N}_%]{2,59})` +
    `|(?:${label}{2,63}\\.)+(?:com|net|int|edu|gov|org|info|mil)` +
    "|https?://(?:\\d{1,3}(?:\\.\\d{1,3}){3}|\\[(?:[\\da-f]{0,4}:){2}(?:[\\da-f]{0,4}:?){1,6}\\]))" +
    "(?::\\d{1,5})?(?:[/?#]\\S*)?$",
  "iu",
);
const mailHost = /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*\.[\p{L}\p{N}_]+$/u;
const scheme = /^[\w.+-]{2,}:(?:\/){0,2}$/;
const pairs = [
  ["(", ")"],
  ["<", ">"],
  ["&lt;", "&gt;"],
] as const;
const closers = [")", ">", ".", ",", "\n", "&gt;"];
const openers = ["(", "<", "&lt;"];

/** Jinja's filter that makes links of addresses. */
export const urlize: Filter = (value, args, { run }) => {
  const [limit = null, nofollow = false, target = null, rel = null, schemes = null] = take("urlize", args, [
    ...["trim_url_limit?", "nofollow?", "target?", "rel?", "extra_schemes?"],
  ]);
  const max = limit === null ? undefined : asInteger(limit, "urlize");
  const words = new Set(rel === null ? [] : textOf(rel).split(/\s+/).filter(Boolean));
  if (truthy(nofollow)) words.add("nofollow");
  words.add("noopener");
  const others = (schemes === null ? [] : iterate(schemes)).map((each) => asText(each, "urlize"));
  for (const each of others) {
    if (!scheme.test(each)) throw new Fault(`${JSON.stringify(each)} is not a valid URI scheme prefix.`);
  }
  const attributes =
    ` rel="${escapeHtml([...words].sort().join(" "))}"` +
    (target === null || !truthy(target) ? "" : ` target="${escapeHtml(textOf(target))}"`);
  const text = escapeHtml(textOf(value));
  run.budget.work(text.length * 4);
  const linked = text
    .split(/(\s+)/u)
    .map((word) => linkOf(word, attributes, others, max))
    .join("");
  run.budget.make(linked.length);
  return linked;
};

function linkOf(
  word: string,
  attributes: string,
  schemes: readonly string[],
  max: number | undefined,
): string {
  const { head, middle, tail } = balanced(word);
  const shown = max === undefined ? middle : trimmed(middle, max);
  const link = (href: string, text: string, more = attributes) => `<a href="${href}"${more}>${text}</a>`;
  let made = middle;
  if (address.test(middle)) {
    made = link(/^https?:\/\//.test(middle) ? middle : `https://${middle}`, shown);
  } else if (middle.startsWith("mailto:") && isMail(middle.slice(7))) {
    made = link(middle, middle.slice(7), "");
  } else if (!/^(?:www\.|@)|:/.test(middle) && isMail(middle)) {
    made = link(`mailto:${middle}`, middle, "");
  } else {
    for (const each of schemes) if (made !== each && made.startsWith(each)) made = link(made, made);
  }
  return head + made + tail;
}

/** A word without the marks around it; brackets that belong to an address stay with it. */
function balanced(word: string): { head: string; middle: string; tail: string } {
  let [from, to] = [0, word.length];
  const opener = () => openers.find((each) => word.startsWith(each, from));
  const closer = () => closers.find((each) => to - each.length >= from && word.endsWith(each, to));
  for (let mark = opener(); mark !== undefined; mark = opener()) from += mark.length;
  for (let mark = closer(); mark !== undefined; mark = closer()) to -= mark.length;
  let [middle, tail] = [word.slice(from, to), word.slice(to)];
  for (const [start, end] of pairs) {
    const starts = middle.split(start).length - 1;
    if (starts <= middle.split(end).length - 1) continue;
    for (let left = Math.min(starts, tail.split(end).length - 1); left > 0; left--) {
      const cut = tail.indexOf(end) + end.length;
      middle += tail.slice(0, cut);
      tail = tail.slice(cut);
    }
  }
  return { head: word.slice(0, from), middle, tail };
}

function isMail(text: string): boolean {
  const at = text.lastIndexOf("@");
  return at > 0 && mailHost.test(text.slice(at + 1));
}

function trimmed(text: string, max: number): string {
  const characters = Array.from(text);
  return characters.length > max ? `${characters.slice(0, max).join("")}...` : text;
}
