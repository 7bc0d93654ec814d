import type { Allowance } from "./budget.ts";
import { type Checked, type Finding, sortFindings } from "./finding.ts";
import type { Judged, NeededSource, Reference } from "./judge-file.ts";
import { globOf, isUnknownText } from "./worlds.ts";

/** A tree of files with a top file, as a check walks through it. */
export interface Walked {
  /** `top.sls`; absent when the tree has none. */
  top: string | undefined;
  /** Every other file, for hints. */
  rest(): readonly string[];
  judge(path: string): Promise<Judged>;
  /** The files that a name leads to, or why there is none. @param from the file that has the name */
  find(name: string, from: string): { paths: readonly string[] } | { reason: string };
  /** Why none of these files is there; `undefined` when one is. */
  missing(source: NeededSource): string | undefined;
  /** Whether files may not include each other. */
  refusesCycles: boolean;
}

/** Once this much is wrong, nothing more is looked for. */
const enough = 100;

/**
 * Reads the files that a top file reaches by any target or include: what is wrong in one of them is a problem.
 *
 * @param all whether all other files are read as well: what is wrong in them is a hint
 */
export async function walk(tree: Walked, allowance: Allowance, all: boolean): Promise<Checked> {
  const walking = new Walking(tree, allowance);
  if (tree.top !== undefined) await walking.visit(tree.top, true);
  await walking.reach();
  if (all) for (const path of tree.rest()) if (allowance.isLeft) await walking.visit(path, false);
  return walking.found();
}

class Walking {
  private readonly problems: Finding[] = [];
  private readonly hints: Finding[] = [];
  private readonly seen = new Set<string>();
  private readonly waiting: string[] = [];
  /** What files include for certain. */
  private readonly includes = new Map<string, { to: string; at: Reference["at"] }[]>();
  private readonly tree: Walked;
  private readonly allowance: Allowance;

  constructor(tree: Walked, allowance: Allowance) {
    this.tree = tree;
    this.allowance = allowance;
  }

  async reach(): Promise<void> {
    for (let next = 0; next < this.waiting.length; next++) {
      if (this.problems.length >= enough || !this.allowance.isLeft) break;
      await this.visit(this.waiting[next] ?? "", true);
    }
    if (this.tree.refusesCycles) this.problems.push(...cyclesIn(this.includes));
    if (this.allowance.isLeft) return;
    const reason = `the files take too long to check: ${this.allowance.worst} takes the most`;
    this.problems.push({ file: this.tree.top ?? "", line: 1, column: 1, reason });
  }

  async visit(path: string, isReached: boolean): Promise<void> {
    if (this.seen.has(path)) return;
    this.seen.add(path);
    // Also when all files are known: there may be many.
    await this.allowance.turn();
    const judged = await this.tree.judge(path);
    (isReached ? this.problems : this.hints).push(...judged.problems);
    this.hints.push(...judged.hints);
    for (const reference of judged.references) this.follow(reference, path, isReached);
    for (const source of judged.sources) {
      const reason = this.tree.missing(source);
      if (reason !== undefined) this.hints.push({ ...source.at, reason });
    }
  }

  found(): Checked {
    const { top } = this.tree;
    const checked = this.seen.size - (top === undefined ? 0 : 1);
    return { checked, problems: sortFindings(this.problems), hints: sortFindings(this.hints) };
  }

  private follow({ name, at, isCertain }: Reference, from: string, isReached: boolean): void {
    const isUnknown = isUnknownText(name);
    const glob = globOf(name);
    // A name that is unknown as a whole says nothing.
    if (isUnknown && /^[*.]*$/.test(glob)) return;
    const found = this.tree.find(glob, from);
    if ("reason" in found) {
      if (!isUnknown)
        (isReached && isCertain ? this.problems : this.hints).push({ ...at, reason: found.reason });
      return;
    }
    if (!isReached) return;
    for (const to of found.paths) this.waiting.push(to);
    const [to] = found.paths;
    if (!isCertain || isUnknown || to === undefined || from === this.tree.top) return;
    const known = this.includes.get(from) ?? [];
    this.includes.set(from, [...known, { to, at }]);
  }
}

/** A problem for each cycle, at the include that closes it. */
function cyclesIn(includes: ReadonlyMap<string, readonly { to: string; at: Reference["at"] }[]>): Finding[] {
  const found: Finding[] = [];
  const done = new Set<string>();
  for (const root of includes.keys()) {
    const trail: { path: string; next: number }[] = [];
    const enter = (path: string) => {
      if (!done.has(path)) trail.push({ path, next: 0 });
    };
    enter(root);
    for (let last = trail.at(-1); last !== undefined; last = trail.at(-1)) {
      const edge = includes.get(last.path)?.[last.next++];
      if (edge === undefined) {
        done.add(last.path);
        trail.pop();
        continue;
      }
      const paths = trail.map(({ path }) => path);
      const begin = paths.indexOf(edge.to);
      if (begin < 0) enter(edge.to);
      else
        found.push({
          ...edge.at,
          reason: `circular include: ${[...paths.slice(begin), edge.to].join(" -> ")}`,
        });
    }
  }
  return found;
}
