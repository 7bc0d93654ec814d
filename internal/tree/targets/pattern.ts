import { RE2JS, RE2JSException } from "re2js";
import { createBoundedMap } from "../../base/bounded-map.ts";
import { SvcError } from "../../base/errors.ts";
import { matchGlob } from "./glob.ts";
import { repetitionOf } from "./repetition.ts";

/** A compiled pattern: whether a text matches. */
export type TextTest = (text: string) => boolean;

/** Compiles a shell-style glob for `matchGlob`; common forms need no search. */
export function compileGlob(pattern: string): TextTest {
  const stars = pattern.split("*");
  if (/[?[]/.test(pattern) || stars.length > 3) return (text) => matchGlob(pattern, text);
  const [head = "", middle = "", tail = ""] = stars;
  if (stars.length === 1) return (text) => text === pattern;
  if (stars.length === 2) {
    const min = pattern.length - 1;
    return (text) => text.length >= min && text.startsWith(head) && text.endsWith(middle);
  }
  if (head !== "" || tail !== "") return (text) => matchGlob(pattern, text);
  return (text) => text.includes(middle);
}

/** A compiled regular expression of a target. */
export interface Regex {
  /** What it costs. */
  readonly instructions: number;
  readonly test: TextTest;
}

/** Regular expressions of targets; those that were used last are not compiled again. */
export interface Regexes {
  /**
   * Compiles a regular expression in RE2 syntax. It must match at the start of a text and may end anywhere, as
   * in Python's `re.match`. Matching takes linear time for every pattern, because RE2 has no backreferences and
   * no lookaround.
   *
   * @throws SvcError `bad_request` with only the reason
   */
  compile(pattern: string, options?: { ignoreCase?: boolean }): Regex;
}

const maxCompiled = 256;
const maxInstructions = 1_000;
const maxRepetition = 100;
/** What an engine may remember of one expression, bytes: beyond it, it begins again. */
const maxStateBytes = 256 * 1024;

export function createRegexes(max = maxCompiled): Regexes {
  const compiled = createBoundedMap<Regex>(max);
  return {
    compile(pattern, { ignoreCase = false } = {}) {
      const key = `${ignoreCase ? "i" : ""}:${pattern}`;
      return compiled.get(key) ?? compiled.set(key, compileRegex(pattern, ignoreCase));
    },
  };
}

function compileRegex(pattern: string, ignoreCase: boolean): Regex {
  const repetition = repetitionOf(pattern);
  // Before compiling, which takes time and memory for each repetition.
  if (repetition > maxRepetition) {
    throw new SvcError(
      "bad_request",
      `the regular expression repeats a part ${repetition} times: at most ${maxRepetition} are allowed`,
    );
  }
  const flags = ignoreCase ? RE2JS.CASE_INSENSITIVE : 0;
  return compiling(() => {
    // Compile it alone first: an extra parenthesis would close the group below.
    const instructions = RE2JS.compile(pattern, flags).programSize();
    if (instructions > maxInstructions) {
      throw new SvcError(
        "bad_request",
        `the regular expression is too large: it has ${instructions} instructions once compiled, and ${maxInstructions} are allowed`,
      );
    }
    const anchored = RE2JS.compile(`\\A(?:${pattern})`, flags);
    return { instructions, test: testWith(anchored) };
  });
}

function testWith(anchored: RE2JS): TextTest {
  let isBounded = false;
  return (text) => {
    if (!isBounded) {
      // Its usual 8 MiB would be 2 GiB for all that are kept.
      const { dfa } = anchored.re2();
      dfa.stateBudget = maxStateBytes;
      dfa.memBudget = maxStateBytes;
      isBounded = true;
    }
    return anchored.test(text);
  };
}

/** A place in a text that a regular expression matches. */
export interface Match {
  /** Offsets in the text. */
  from: number;
  to: number;
  /** What each group matched, the first one for the whole; `undefined` for one that took no part. */
  groups: readonly (string | undefined)[];
}

/** Finds matches of a regular expression in RE2 syntax. */
export interface Search {
  /** The match at the start of a text. */
  atStart(text: string): Match | undefined;
  /** Every match, from the start on. */
  all(text: string): Iterable<Match>;
}

/** @throws SvcError `bad_request` with only the reason */
export function compileSearch(
  pattern: string,
  { ignoreCase = false, multiline = false }: { ignoreCase?: boolean; multiline?: boolean } = {},
): Search {
  const flags = (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0) | (multiline ? RE2JS.MULTILINE : 0);
  const compiled = compiling(() => RE2JS.compile(pattern, flags));
  const matchOf = (matcher: ReturnType<typeof compiled.matcher>): Match => ({
    from: matcher.start(),
    to: matcher.end(),
    groups: Array.from({ length: matcher.groupCount() + 1 }, (_, at) => matcher.group(at) ?? undefined),
  });
  return {
    atStart(text) {
      const matcher = compiled.matcher(text);
      return matcher.lookingAt() ? matchOf(matcher) : undefined;
    },
    *all(text) {
      const matcher = compiled.matcher(text);
      while (matcher.find()) yield matchOf(matcher);
    },
  };
}

/** @throws SvcError `bad_request` with only the reason */
function compiling<Compiled>(compile: () => Compiled): Compiled {
  try {
    return compile();
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause;
    const reason = cause.message.replace(/^error parsing regexp: /, "");
    throw new SvcError("bad_request", `invalid regular expression: ${reason}`, { cause });
  }
}
