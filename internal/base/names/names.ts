/** The name of an operator: a key of a bucket and the name of a file, so that no two names may look the same. */
export const operatorNameForm = /^[a-z0-9](?:[a-z0-9_-]|\.(?=[a-z0-9])){0,62}$/;

/** The name of a rule, which is a label of metrics and a part of ids. */
export const ruleNameForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** Whether a text can be the name of an environment: `base`, or a branch or tag such as `feature/web-2`. */
export const isEnvironmentName = (name: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._/+-]{0,199}$/.test(name) &&
  name.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");

/** The name of an environment where only small letters, digits and hyphens may be, as in keys and subjects. */
export const environmentKey = (name: string): string =>
  /^[a-z0-9-]+$/.test(name) ? name : `=${Buffer.from(name).toString("base64url")}`;

/** The name of a role. */
export const roleNameForm = /^[a-z][a-z0-9_-]{0,62}$/;
