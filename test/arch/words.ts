import { isCode, isProduction, isTest, parse, type Source, type Violation } from "./source.ts";

/** A word that code must not use, how often it still does, and why. */
interface Ban {
  word: string;
  pattern: RegExp;
  /** What to do instead. */
  instead: string;
  /** Uses that are left. It may only fall: a count below it fails as well, so that it is lowered. */
  limit: number;
  /** Which files are counted. */
  counts: (source: Source) => boolean;
  /** Where the pattern is looked for: code without strings and comments, or the comments. */
  where: "code" | "comments";
}

const clock = "take a Clock as a parameter (internal/base/clock.ts)";
const outsideClock = (source: Source) => isCode(source) && source.path !== "internal/base/clock.ts";
const outsideRandom = (source: Source) => isCode(source) && source.path !== "internal/base/id.ts";
const outsideMain = (source: Source) => isProduction(source) && !/^cmd\/[^/]+\/main\.ts$/.test(source.path);

/** Every banned word. */
export const bans: readonly Ban[] = [
  ban("Date.now", /\bDate\.now\b/g, clock, outsideClock),
  ban("new Date()", /\bnew Date\(\s*\)/g, clock, outsideClock),
  ban("performance.now", /\bperformance\.now\b/g, clock, outsideClock),
  ban("setTimeout", /\bsetTimeout\b/g, clock, outsideClock),
  ban("setInterval", /\bsetInterval\b/g, clock, outsideClock),
  ban("Bun.sleep", /\bBun\.sleep/g, clock, isCode),
  ban(
    "Math.random",
    /\bMath\.random\b/g,
    "take a Random as a parameter (internal/base/id.ts)",
    outsideRandom,
  ),
  ban("console.", /\bconsole\s*\./g, "use a Log, or write results to standard output", isCode),
  // The one left is the daemon's answer to a second signal, when stopping in order has not worked.
  { ...ban("process.exit", /\bprocess\.exit\b/g, "return an exit code to main", outsideMain), limit: 1 },
  ban("as any", /\bas\s+any\b/g, "name the type, or narrow it", isCode),
  ban(".skip(", /\.\s*(?:skip|skipIf)\s*\(/g, "make the test run, or remove it", isTest),
  ban(".only(", /\.\s*only\s*\(/g, "run every test", isTest),
  ban(".todo(", /\.\s*(?:todo|todoIf)\s*\(/g, "write the test", isTest),
  ban("@ts-ignore", /@ts-ignore\b/g, "fix the type", isCode, "comments"),
  ban("@ts-expect-error", /@ts-expect-error\b/g, "fix the type", isCode, "comments"),
  ban("@ts-nocheck", /@ts-nocheck\b/g, "fix the types", isCode, "comments"),
  ban("TODO", /\b(?:TODO|FIXME|XXX)\b/g, "do it, or file it", isCode, "comments"),
];

function ban(
  word: string,
  pattern: RegExp,
  instead: string,
  counts: Ban["counts"],
  where: Ban["where"] = "code",
): Ban {
  return { word, pattern, instead, counts, where, limit: 0 };
}

/** Words used more often than their limit, each with the files, or less often, so that the limit falls. */
export function checkWords(sources: Source[], banned: readonly Ban[]): Violation[] {
  return banned.flatMap((entry) => {
    const uses = sources.filter(entry.counts).flatMap((source) => {
      const count = parse(source)[entry.where].match(entry.pattern)?.length ?? 0;
      return count === 0 ? [] : [{ path: source.path, count }];
    });
    const total = uses.reduce((sum, use) => sum + use.count, 0);
    if (total < entry.limit) {
      const problem = `${entry.word} is down to ${total} uses; lower its limit from ${entry.limit}`;
      return [{ path: "test/arch/words.ts", problem }];
    }
    if (total === entry.limit) return [];
    return uses.map((use) => ({
      path: use.path,
      problem: `uses ${entry.word} (${total} in all, ${entry.limit} allowed); ${entry.instead}`,
    }));
  });
}
