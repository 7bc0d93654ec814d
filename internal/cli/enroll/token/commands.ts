import { group } from "../../../program/command-line/mod.ts";
import { createCommand } from "./create.ts";
import { listCommand } from "./list.ts";
import { revokeCommand } from "./revoke.ts";
import { showCommand } from "./show.ts";

export const tokenCommand = group({
  name: "token",
  description: "Tokens that hosts join with: one string that is address, trust and admission.",
  commands: () => [createCommand, listCommand, showCommand, revokeCommand],
});
