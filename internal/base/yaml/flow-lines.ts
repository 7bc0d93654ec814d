import { eachFlow, endOfQuote } from "./unclosed.ts";

/**
 * Puts what is between brackets on one line, where a bracket, a comma or a colon stands next to the line end: PyYAML
 * reads it so, however far in the lines are. The text keeps its length, so that places in it stay what they are.
 */
export function onOneLine(text: string): string {
  const parts: string[] = [];
  let done = 0;
  eachFlow(text, (from, to) => {
    parts.push(text.slice(done, from), flat(text.slice(from, to)));
    done = to;
  });
  return parts.length === 0 ? text : parts.join("") + text.slice(done);
}

function flat(flow: string): string {
  const made: string[] = [];
  let last = "";
  for (let at = 0; at < flow.length; ) {
    const sign = flow[at] ?? "";
    const blank = blankFrom(flow, at);
    if (blank > at) {
      const isBetween = "[{,:".includes(last) || "]},".includes(flow[blank] ?? " ");
      made.push(isBetween ? " ".repeat(blank - at) : flow.slice(at, blank));
      at = blank;
      continue;
    }
    // In the middle of a word, a quote is a letter.
    const isQuote =
      (sign === "'" || sign === '"') && (/\s/.test(flow[at - 1] ?? "") || "[{,:".includes(last));
    const end = isQuote ? endOfQuote(flow, at) + 1 : at + 1;
    made.push(flow.slice(at, end));
    last = flow[end - 1] ?? "";
    at = end;
  }
  return made.join("");
}

/** The end of white space and comments. */
function blankFrom(flow: string, from: number): number {
  let at = from;
  while (at < flow.length) {
    if (/\s/.test(flow[at] ?? "")) at++;
    else if (flow[at] === "#" && /\s/.test(flow[at - 1] ?? "")) {
      const line = flow.indexOf("\n", at);
      at = line < 0 ? flow.length : line;
    } else break;
  }
  return at;
}
