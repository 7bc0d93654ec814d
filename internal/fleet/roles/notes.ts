import { filesOfCall } from "../../host/modules/mod.ts";
import { labelsIn } from "../../tree/targets/mod.ts";
import type { Role, RoleBook } from "./role.ts";

/** What a person should know of roles that are valid, in lines. */
export function notesOn(book: RoleBook): string[] {
  return [...book.values()].flatMap((role) => [...notesOnCommits(role), ...notesOnLabels(role)]);
}

/** Who may set the label by which a role chooses peels, chooses them alone. */
function notesOnLabels({ jobs, grants, builtIn }: Role): string[] {
  if (builtIn) return [];
  const rights = grants.filter(({ kind, action }) => kind === "enrollments" && action === "label");
  return jobs.flatMap(({ rule, targets }) =>
    [...new Set(labelsIn(targets))]
      .filter((name) => rights.some(({ labels }) => labels === undefined || labels.has(name)))
      .map(
        (name) =>
          `${rule}: its targets use the label ${name}, which the same role may set: it can widen itself to any peel`,
      ),
  );
}

function notesOnCommits({ jobs, builtIn }: Role): string[] {
  const rules = builtIn
    ? []
    : jobs.filter(({ commits, functions }) => commits === "any" && usesFiles(functions));
  return rules.map(
    ({ rule }) =>
      `${rule}: with "commits: any" it can also run state files that wait for a release (states.require_release), on peels without require_operator: on`,
  );
}

const usesFiles = (functions: ReadonlySet<string>): boolean =>
  [...functions].some((name) => filesOfCall(name, {}) !== undefined);
