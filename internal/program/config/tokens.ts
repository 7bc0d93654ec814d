import { kindOf } from "../../base/yaml.ts";
import { readFields } from "./fields.ts";
import { Complaint, type OptionType } from "./option.ts";
import { path, text } from "./scalar.ts";

/** An operator of the REST API. */
export interface ApiToken {
  /** Name attached to requests and logs. */
  readonly username: string;
  /** Path of the file that holds the bearer token. */
  readonly token_file: string;
}

const fields = {
  username: text({ name: "name", placeholder: "<name>", read: (name) => name }),
  token_file: path,
};

/** The list under `api.tokens`. It has no flag. */
export const apiTokens: OptionType<readonly ApiToken[]> = {
  name: "list of {username, token_file}",
  placeholder: "",
  fromYaml: (node) => {
    if (node.kind !== "list") {
      throw new Complaint(`expected a list of {username, token_file}, found ${kindOf(node)}`, node.at);
    }
    return node.items.map((item) => ({ username: "", token_file: "", ...readFields(item, fields) }));
  },
  fromFlag: () => {
    throw new Complaint("can only be set in the file");
  },
  format: (tokens) => JSON.stringify(tokens),
};
