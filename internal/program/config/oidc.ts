import { kindOf, type YamlNode } from "../../base/yaml.ts";
import { type Fields, readFields } from "./fields.ts";
import { Complaint, type OptionType } from "./option.ts";
import { requiredPath, text } from "./scalar.ts";
import { readRoleName } from "./tokens.ts";

/** A claim that gives a role. */
interface OidcRoleClaim {
  readonly claim: string;
  readonly value: string;
  readonly role: string;
}

/** An identity provider whose tokens the REST API accepts. */
export interface OidcProvider {
  /** Exactly as its tokens name it. */
  readonly issuer: string;
  readonly audience: string;
  /** Absent means `email`, or `sub` without one. */
  readonly username_claim?: string;
  readonly role_claims: readonly OidcRoleClaim[];
  /** CA file that verifies the provider; absent means the trust store of the host. */
  readonly ca_file?: string;
  /** The public client that the console signs in as; absent means the audience. */
  readonly client_id?: string;
  /** What the console asks for; absent means `openid email profile`. */
  readonly scope?: string;
}

const mostProviders = 16;
const longestIssuer = 120;

/** Reads an issuer. @throws Complaint */
function readIssuer(value: string): string {
  const url = URL.parse(value);
  if (url?.protocol !== "https:" || !/^https:\/\/[\x21-\x7e]+$/.test(value)) {
    throw new Complaint(
      "expected an issuer with https://, such as https://idp.example.com: keys are fetched from there",
    );
  }
  if (
    url.username !== "" ||
    url.password !== "" ||
    url.search !== "" ||
    url.hash !== "" ||
    /[?#@\\]/.test(value)
  ) {
    throw new Complaint("an issuer has a host, a port and a path, and nothing else");
  }
  if (value.length > longestIssuer) throw new Complaint(`expected at most ${longestIssuer} characters`);
  return value;
}

const word = text({
  name: "text",
  placeholder: "<text>",
  read: (value) => {
    if (value !== "" && value.length <= 512) return value;
    throw new Complaint("expected 1 to 512 characters");
  },
});

const claimFields = {
  claim: word,
  value: word,
  role: text({ name: "role", placeholder: "<role>", read: readRoleName }),
} satisfies Fields;

const roleClaims = mapsOf("{claim, value, role}", readClaim);

const fields = {
  issuer: text({ name: "issuer", placeholder: "<url>", read: readIssuer }),
  audience: word,
  username_claim: word,
  role_claims: roleClaims,
  ca_file: requiredPath,
  client_id: word,
  scope: text({
    name: "scope",
    placeholder: "<scope>",
    read: (value) => {
      if (/^openid( [\x21\x23-\x5b\x5d-\x7e]{1,64}){0,15}$/.test(value)) return value;
      throw new Complaint("expected openid and further scopes, such as openid email groups");
    },
  }),
} satisfies Fields;

/** The list under `api.oidc`. It has no flag. */
export const oidcProviders: OptionType<readonly OidcProvider[]> = {
  ...mapsOf("{issuer, audience, username_claim, role_claims, ca_file, client_id, scope}", readProvider),
  fromYaml(node) {
    const providers = readMaps(
      node,
      "{issuer, audience, username_claim, role_claims, ca_file, client_id, scope}",
      readProvider,
    );
    if (providers.length > mostProviders) throw new Complaint(`at most ${mostProviders} providers`, node.at);
    const twice = providers.find(
      ({ issuer }, at) => providers.findIndex((one) => one.issuer === issuer) < at,
    );
    if (twice !== undefined) throw new Complaint(`the issuer ${twice.issuer} appears twice`, node.at);
    return providers;
  },
};

function readClaim(node: YamlNode): OidcRoleClaim {
  const { claim, value, role } = readFields(node, claimFields);
  if (claim === undefined || value === undefined || role === undefined) {
    throw new Complaint("expected claim, value and role", node.at);
  }
  return { claim, value, role };
}

function readProvider(node: YamlNode): OidcProvider {
  const { issuer, audience, role_claims, ...rest } = readFields(node, fields);
  if (issuer === undefined) throw new Complaint("issuer is missing", node.at);
  if (audience === undefined)
    throw new Complaint("audience is missing: what its tokens have in aud", node.at);
  if (role_claims === undefined || role_claims.length === 0) {
    throw new Complaint("role_claims is missing: without them nobody has a role", node.at);
  }
  return { issuer, audience, role_claims, ...rest };
}

function readMaps<T>(node: YamlNode, form: string, read: (item: YamlNode) => T): readonly T[] {
  if (node.kind === "list") return node.items.map(read);
  throw new Complaint(`expected a list of ${form}, found ${kindOf(node)}`, node.at);
}

function mapsOf<T>(form: string, read: (item: YamlNode) => T): OptionType<readonly T[]> {
  return {
    name: `list of ${form}`,
    placeholder: "",
    fromYaml: (node) => readMaps(node, form, read),
    fromFlag: () => {
      throw new Complaint("can only be set in the file");
    },
    format: (items) => JSON.stringify(items),
  };
}
