import { command } from "../../program/command-line/mod.ts";

export const schemaCommand = command({
  name: "schema",
  description: "Write the JSON Schema of state files, for the YAML language server of an editor.",
  examples: ["svc state schema > svc-states.schema.json"],
  args: {},
  async run(_, cli) {
    const { stateRegistry } = await import("../../tree/functions/mod.ts");
    const { stateSchema } = await import("../../tree/language/mod.ts");
    const schema = stateSchema(await stateRegistry.all());
    await cli.print(schema, () => JSON.stringify(schema, null, 2));
  },
});
