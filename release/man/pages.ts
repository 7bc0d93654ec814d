import { peelCommands } from "../../internal/agent/command/mod.ts";
import { tree } from "../../internal/cli/mod.ts";
import { masterCommands } from "../../internal/master/command/mod.ts";
import { masterProgram, operatorOptions, peelProgram } from "../../internal/program/config/mod.ts";
import type { Binary } from "../compile.ts";
import { commandPages } from "./commands.ts";
import { daemonPage, filePage } from "./daemons.ts";
import type { Edition, Page } from "./roff.ts";

/** All manual pages of a program, generated from its commands and its option table. */
export const manualOf: Record<Binary, (edition: Edition) => Promise<Page[]>> = {
  svc: async (edition) => {
    const texts = [
      "The tool svc reads the file that --config names, or else the first of /etc/svc/master.yaml and ~/.svc/config.yaml that has a section named master. The first file is shared with svc-master(8), and may contain its keys too.",
    ];
    const reader = { name: "svc", section: 1 };
    const file = { name: "svc.yaml", summary: "configuration of the operator's command", reader };
    const filed = filePage(file, texts, operatorOptions, edition);
    return [...(await commandPages(tree, edition, [filed])), filed];
  },
  "svc-master": (edition) => ofDaemon(masterProgram, masterCommands, edition),
  "svc-peel": (edition) => ofDaemon(peelProgram, peelCommands, edition),
};

async function ofDaemon(
  program: typeof masterProgram | typeof peelProgram,
  commands: typeof masterCommands,
  edition: Edition,
): Promise<Page[]> {
  const { name, options, defaultFile } = program;
  const file = { name: `${name}.yaml`, summary: `configuration of ${name}`, reader: { name, section: 8 } };
  const texts = [
    `The daemon ${name} reads ${defaultFile}, or the file that --config names. It may be absent. A flag overrides the file. In every default the environment variable SVC_DATA_DIR replaces /data; the packages set it.`,
  ];
  return [await daemonPage(program, commands, edition), filePage(file, texts, options, edition)];
}
