import { filesOfCall } from "../../host/modules/mod.ts";
import type { RoleBook } from "./role.ts";

/** What a person should know of roles that are valid, in lines. */
export function notesOn(book: RoleBook): string[] {
  return [...book.values()].flatMap(({ jobs, builtIn }) => {
    const rules = builtIn
      ? []
      : jobs.filter(({ commits, functions }) => commits === "any" && usesFiles(functions));
    return rules.map(
      ({ rule }) =>
        `${rule}: with "commits: any" it can also run state files that wait for a release (states.require_release), on peels without require_operator: on`,
    );
  });
}

const usesFiles = (functions: ReadonlySet<string>): boolean =>
  [...functions].some((name) => filesOfCall(name, {}) !== undefined);
