import type { Schema } from "../base/document/schemas.ts";
import { SvcError } from "../base/errors.ts";
import { suggestion } from "../base/nearest.ts";
import { command, word } from "../program/command-line/mod.ts";

/** The files that people write, with what each may hold. */
const files: Readonly<Record<string, { title: string; schema(): Promise<Schema<unknown>> }>> = {
  master: {
    title: "Configuration of svc-master",
    async schema() {
      const { configFile, masterProgram, operatorOptions } = await import("../program/config/mod.ts");
      return configFile({ ...masterProgram.options, ...operatorOptions });
    },
  },
  peel: {
    title: "Configuration of svc-peel",
    async schema() {
      const { configFile, peelProgram } = await import("../program/config/mod.ts");
      return configFile(peelProgram.options);
    },
  },
  svc: {
    title: "Configuration of svc",
    async schema() {
      const { configFile, operatorOptions } = await import("../program/config/mod.ts");
      return configFile(operatorOptions);
    },
  },
  roles: {
    title: "Roles of operators",
    schema: async () => (await import("../fleet/roles/mod.ts")).rolesFile(),
  },
  policy: {
    title: "Enrollment policy",
    schema: async () => (await import("../fleet/policy/mod.ts")).policyFile(),
  },
  rules: {
    title: "Rules of the reactor",
    schema: async () => (await import("../fleet/reactor/rules/mod.ts")).rulesFile(),
  },
  nodegroups: {
    title: "Node groups",
    schema: async () => (await import("../tree/targets/mod.ts")).groupsFile(),
  },
  "settings-top": {
    title: "Top file of settings",
    schema: async () => (await import("../tree/settings/mod.ts")).settingsTop(),
  },
  "states-top": {
    title: "Top file of states",
    schema: async () => (await import("../tree/language/mod.ts")).statesTop(),
  },
};
const names = Object.keys(files);

export const schemaCommand = command({
  name: "schema",
  description: "Write the JSON Schema of a file that you write, for the YAML language server of an editor.",
  examples: ["svc schema roles > roles.schema.json"],
  args: { file: word(names.join(", "), { required: true }) },
  async run({ file }, cli) {
    const found = Object.hasOwn(files, file) ? files[file] : undefined;
    if (found === undefined) {
      const hint = suggestion(file, names);
      throw new SvcError("usage", `<file> is ${names.join(", ")}, not ${JSON.stringify(file)}${hint}`);
    }
    const { jsonSchemaOf } = await import("../base/document/json-schema.ts");
    const schema = jsonSchemaOf(found.title, await found.schema());
    await cli.print(schema, () => JSON.stringify(schema, null, 2));
  },
});
