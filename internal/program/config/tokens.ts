import { rfc3339 } from "../../base/clock.ts";
import { roleNameForm } from "../../base/names.ts";
import { kindOf } from "../../base/yaml.ts";
import { readFields } from "./fields.ts";
import { listOf } from "./list.ts";
import { Complaint, type OptionType } from "./option.ts";
import { path, text } from "./scalar.ts";

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

/** Names of roles. Whether they exist is known where the roles are. */
const roleNames = listOf({ name: "roles", placeholder: "<role>", read: readRoleName });

/** Reads the name of a role. @throws Complaint */
export function readRoleName(name: string): string {
  if (roleNameForm.test(name)) return name;
  throw new Complaint(
    `${JSON.stringify(name.slice(0, 60))} is not the name of a role: at most 63 small letters, digits, hyphens and underscores`,
  );
}

const instantForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

const instant = text<number>({
  name: "time",
  placeholder: "<time>",
  read: (value) => {
    const ms = instantForm.test(value) ? Date.parse(value) : Number.NaN;
    if (!Number.isNaN(ms)) return ms;
    throw new Complaint("expected a time such as 2027-01-31T00:00:00Z");
  },
  format: rfc3339,
});

const fields = {
  username: text({ name: "name", placeholder: "<name>", read: (name) => name }),
  token_file: path,
  roles: roleNames,
  expires: instant,
};

/** The list under `api.tokens`. It has no flag. */
export const apiTokens: OptionType<readonly ApiToken[]> = {
  name: "list of {username, token_file, roles, expires}",
  placeholder: "",
  fromYaml: (node) => {
    if (node.kind !== "list") {
      throw new Complaint(
        `expected a list of {username, token_file, roles, expires}, found ${kindOf(node)}`,
        node.at,
      );
    }
    return node.items.map((item) => {
      const token = { username: "", token_file: "", ...readFields(item, fields) };
      if (token.roles?.length !== 0) return token;
      throw new Complaint("roles: an empty list; leave it out for [admin]", item.at);
    });
  },
  fromFlag: () => {
    throw new Complaint("can only be set in the file");
  },
  format: (tokens) =>
    JSON.stringify(
      tokens.map(({ expires, ...token }) =>
        expires === undefined ? token : { ...token, expires: rfc3339(expires) },
      ),
    ),
};
