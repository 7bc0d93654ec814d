import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { quote } from "../../base/cut.ts";
import { fields, readBy } from "../../base/document/schemas.ts";
import { SvcError } from "../../base/errors.ts";
import { roleNameForm } from "../../base/names/names.ts";
import { listOf, listOfMaps } from "./list.ts";
import { type ProblemOf, path } from "./scalar.ts";

/** An operator of the REST API. */
export interface ApiToken {
  /** Name attached to requests and logs. */
  readonly username: string;
  /** Path of the file that holds the bearer token. */
  readonly token_file: string;
  /** Its roles; absent means `[admin]`. */
  readonly roles?: readonly string[];
  /** When it ends, milliseconds since the Unix epoch; absent means never. */
  readonly expires?: number;
}

/** What is wrong with the name of a role. Whether it exists is known where the roles are. */
export const roleNameProblem: ProblemOf = (name) =>
  roleNameForm.test(name)
    ? undefined
    : `${quote(name, 60)} is not the name of a role: at most 63 small letters, digits, hyphens and underscores`;

const instantForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

function readInstant(written: string): number {
  const ms = instantForm.test(written) ? Date.parse(written) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new SvcError("bad_request", "expected a time such as 2027-01-31T00:00:00Z");
}

const roles = listOf({ name: "roles", placeholder: "<role>", item: roleNameProblem });

const token = v.pipe(
  fields({
    username: v.exactOptional(v.string()),
    token_file: v.exactOptional(path.schema),
    roles: v.exactOptional(
      v.pipe(
        roles.schema,
        v.check((names) => names.length > 0, "an empty list; leave it out for [admin]"),
      ),
    ),
    expires: v.exactOptional(v.pipe(v.string(), readBy(readInstant))),
  }),
  v.transform((given): ApiToken => ({ username: "", token_file: "", ...given })),
);

/** The list under `api.tokens`. It has no flag. */
export const apiTokens = listOfMaps("{username, token_file, roles, expires}", token, (tokens) =>
  JSON.stringify(
    tokens.map(({ expires, ...rest }) =>
      expires === undefined ? rest : { ...rest, expires: rfc3339(expires) },
    ),
  ),
);
