import { matchersOf } from "../targets/mod.ts";
import type { Watch } from "../template/mod.ts";
import { type Question, readingOf, targetOf } from "./question.ts";
import type { View } from "./subject.ts";

/** What was noticed while an order was compiled. */
export interface Noticed {
  /** In the order in which they came up, each once. */
  readonly questions: readonly Question[];
  /** The questions of each rendered file. */
  readonly byFile: ReadonlyMap<string, readonly Question[]>;
  /** The files that a secret decided something in. */
  readonly secretChoices: ReadonlySet<string>;
  /** The file that is rendered now. */
  readonly file: string;
}

/** Notices what is read of a peel. */
export function createWatch(view: View): { watch: Watch; noticed: Noticed } {
  const questions = new Map<string, Question>();
  const byFile = new Map<string, Map<string, Question>>();
  const secretChoices = new Set<string>();
  let file = "";
  const note = (question: Question) => {
    if (!questions.has(question.key)) questions.set(question.key, question);
    const own = byFile.get(file) ?? new Map<string, Question>();
    byFile.set(file, own.set(question.key, question));
  };
  return {
    watch: {
      enter(path) {
        file = path;
        byFile.set(path, byFile.get(path) ?? new Map());
      },
      read(table, path, how) {
        note(readingOf(table, path, how));
        return table === "settings" && how !== "presence" && view.subject.isSecret?.(path) === true;
      },
      matches(expression) {
        note(targetOf(expression));
        return view.matches(expression);
      },
      meets(expression, peelId) {
        note(targetOf(expression, { isOfTemplate: true, ...(peelId === undefined ? {} : { peelId }) }));
        return view.meets(expression, peelId);
      },
      chose: () => secretChoices.add(file),
    },
    noticed: {
      get questions() {
        return [...questions.values()];
      },
      get byFile() {
        return new Map([...byFile].map(([path, own]) => [path, [...own.values()]]));
      },
      secretChoices,
      get file() {
        return file;
      },
    },
  };
}

/** What was read, by table and place. */
export interface Reads {
  readonly facts: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
  readonly settings: ReadonlySet<string>;
}

/** The places that questions look at: `app:port`. */
export function readsOf(questions: readonly Question[]): Reads {
  const reads = { facts: new Set<string>(), labels: new Set<string>(), settings: new Set<string>() };
  for (const question of questions) {
    if (question.kind === "read") {
      reads[question.table].add(question.path.join(":"));
      continue;
    }
    for (const matcher of matchersOf(question.expression)) {
      if (matcher.kind === "label") reads.labels.add(matcher.name);
      if (matcher.kind === "fact") reads.facts.add(matcher.parts[0] ?? "");
      if (matcher.kind === "setting") reads.settings.add(matcher.parts[0] ?? "");
    }
  }
  return reads;
}
