import * as v from "valibot";
import { list, mapOf } from "../../base/document/schemas.ts";
import { roleNameForm } from "../../base/names/names.ts";
import type { OptionType } from "./option.ts";

/** Built-in roles that start nothing: listed, one would let its operators run functions by the back door. */
const readingRoles = ["viewer", "auditor", "approver"];

const role = v.pipe(
  v.string(),
  v.regex(roleNameForm, "expected the name of a role"),
  v.check(
    (name) => !readingRoles.includes(name),
    ({ input }) =>
      `the role ${input} starts nothing, so it cannot be listed: give its operators another role`,
  ),
);

const pattern = v.pipe(
  v.string(),
  v.regex(/^[a-z_0-9.*]{1,100}$/, "expected a pattern of functions, such as cmd.run, state.* or *"),
);

/** Roles, each with patterns of the functions that its operators may request. */
export const operatorRoles: OptionType<ReadonlyMap<string, readonly string[]>> = {
  name: "map of roles to patterns of functions",
  placeholder: "",
  schema: mapOf(list(pattern, 100), role),
  format: (roles) =>
    `{${[...roles].map(([name, patterns]) => `${name}: ${JSON.stringify(patterns)}`).join(", ")}}`,
};
