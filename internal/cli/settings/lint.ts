import { command, Exit, visible } from "../../program/command-line/mod.ts";

export const lintCommand = command({
  name: "lint",
  description: "Show each place of a directory of settings files where a fact chooses what a peel gets.",
  args: {
    dir: { type: "positional", required: true, description: "Directory of the settings files" },
  },
  async run(args, cli) {
    const { lintSettings } = await import("../../fleet/settings/mod.ts");
    const { checked, problems } = lintSettings(args.dir);
    const count = `${checked} settings ${checked === 1 ? "file" : "files"}`;
    await cli.print({ checked, problems }, () =>
      problems.length === 0 ? `${count}: no problems` : problems.map(visible).join("\n"),
    );
    if (problems.length === 0) return;
    cli.say(`${count}: ${problems.length} ${problems.length === 1 ? "problem" : "problems"}`);
    throw new Exit(1);
  },
});
