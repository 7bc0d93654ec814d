const operators = new Set(["and", "or", "not", "(", ")"]);
const matcher = /^[A-Z]@/;
/** Salt takes a group of names with one of these for a regular expression. */
const ofRegex = /[([{\\?}\])]/;

/** The target of a group of nodes, or why Salt itself finds no minion by it. */
export type GroupTarget = { target: string } | { problem: string };

/**
 * Writes what Salt makes of a node group as a target, as its `nodegroup_comp` and its compound matcher do.
 *
 * @param words the items of a list, each of which is one word; or the words of a text
 */
export function groupTarget(words: readonly string[]): GroupTarget {
  const [first] = words;
  if (first === undefined) return { problem: "it is empty" };
  if (!words.some((word) => operators.has(word) || word.includes("*") || matcher.test(word))) {
    if (!words.some((word) => ofRegex.test(word))) return quoted(`L@${words.join(",")}`);
    if (words.length === 1) return quoted(`E@${first}`);
    return { problem: "Salt joins these names to one regular expression" };
  }
  const parts: string[] = [];
  let before = "";
  for (const word of words) {
    const wasOperand = before !== "" && (before === ")" || !operators.has(before));
    // Salt joins only a `not` to what stands before it.
    if (wasOperand && word === "not") parts.push("and");
    else if (wasOperand && (word === "(" || !operators.has(word))) {
      return { problem: `Salt finds no minion by it: an operator is missing before ${word}` };
    }
    before = word;
    const part = operators.has(word) ? { target: word } : quoted(word);
    if ("problem" in part) return part;
    parts.push(part.target);
  }
  return { target: parts.join(" ") };
}

/** A word of a target: in quotes where it has spaces, quotes or parentheses. */
function quoted(word: string): GroupTarget {
  const operator = word.split(/\s+/).find((each) => operators.has(each));
  if (operator !== undefined) {
    return { problem: `an item of a list is one word in Salt, so its ${operator} does not join anything` };
  }
  if (!/[\s'"()]/.test(word)) return { target: word };
  const quote = ['"', "'"].find((each) => !word.includes(each));
  if (quote === undefined) return { problem: "it has quotes of both kinds" };
  return { target: `${quote}${word}${quote}` };
}
