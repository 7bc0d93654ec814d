import { isCode, parse, type Source, type Violation } from "./source.ts";

// What must not be said, and where it still is: docs/vocabulary.md has the list.

/** Phrases that mean the same mistake, and what to write instead. */
export interface Phrase {
  /** Each is looked for as whole words, in any case. */
  avoid: readonly string[];
  instead: string;
  /** Longer phrases in which the words are correct. */
  except: readonly string[];
}

/** Uses that are left, by place; a place without an entry must have none. */
export type Limits = Readonly<Record<string, number>>;

const section = "## Words and phrases not to use";

/** The table of docs/vocabulary.md. */
export function readPhrases(page: string): Phrase[] {
  const rows = page
    .slice(page.indexOf(section))
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  return rows.map((row) => {
    const [, avoid = "", instead = "", except = ""] = row.split("|");
    return { avoid: quoted(avoid), instead: instead.trim(), except: quoted(except) };
  });
}

const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => text);

/** Places with more uses than their limit, each use with its file, or with fewer, so that the limit falls. */
export function checkPhrases(sources: Source[], phrases: readonly Phrase[], limits: Limits): Violation[] {
  const found = Map.groupBy(
    sources.flatMap((source) => usesIn(source, phrases)),
    ({ place }) => place,
  );
  const places = [...new Set([...Object.keys(limits), ...found.keys()])].sort();
  return places.flatMap((place): Violation[] => {
    const uses = found.get(place) ?? [];
    const limit = limits[place] ?? 0;
    if (uses.length < limit) {
      return [{ path: place, problem: `is down to ${uses.length} uses; lower its limit from ${limit}` }];
    }
    if (uses.length === limit) return [];
    return uses.map(({ path, phrase, instead }) => ({
      path,
      problem: `says "${phrase}" (${uses.length} in ${place}, ${limit} allowed); use ${instead}`,
    }));
  });
}

/** How often each place uses a phrase. */
export function countPhrases(sources: Source[], phrases: readonly Phrase[]): Limits {
  const counts: Record<string, number> = {};
  for (const { place } of sources.flatMap((source) => usesIn(source, phrases))) {
    counts[place] = (counts[place] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function usesIn(
  source: Source,
  phrases: readonly Phrase[],
): { place: string; path: string; phrase: string; instead: string }[] {
  const place = placeOf(source);
  if (place === undefined) return [];
  const prose = proseOf(source).replace(/\s+/g, " ");
  return phrases.flatMap(({ avoid, instead, except }) => {
    const text = except.reduce((rest, phrase) => rest.replace(wholeWords(phrase), "…"), prose);
    return avoid.flatMap((phrase) =>
      [...text.matchAll(wholeWords(phrase))].map(() => ({ place, path: source.path, phrase, instead })),
    );
  });
}

/** The page or the room that a file counts for; `undefined` for what is not judged. */
function placeOf({ path, text }: Source): string | undefined {
  if (/^(?:docs\/.*|[A-Z]+)\.md$/.test(path)) {
    return text.includes("<!-- Generated from ") ? "generated pages" : path;
  }
  return /^(?:cmd|internal\/[^/]+)(?=\/.*\.tsx?$)/.exec(path)?.[0];
}

/** What people read in a file: of a page all but its code, of code its comments and strings. */
function proseOf(source: Source): string {
  if (isCode(source)) {
    const { comments, strings } = parse(source);
    return `${comments.replace(/\n\s*\*/g, "\n")}\n${strings}`;
  }
  const page = source.path === "docs/vocabulary.md" ? source.text.split(section)[0] : source.text;
  return (page ?? "").replace(/^ *```[\s\S]*?^ *```$/gm, "").replace(/`[^`\n]*`/g, "…");
}

function wholeWords(phrase: string): RegExp {
  const literal = phrase.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w-])${literal}(?![\\w-])`, "gi");
}
