import type { Plain } from "../../../base/msgpack.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { type System, succeed } from "../../../host/system/system.ts";
import type { Plan } from "../../function/mod.ts";
import { planSteps, type Step } from "../steps.ts";

/** The arguments of a state with a rule. */
export type RuleArgs = Readonly<Record<string, Plain | undefined>>;

/** What both iptables and nftables match packets by, in the order of the words of a rule. */
export const matchArgs = {
  protocol: arg.any("Protocol, such as tcp; also proto."),
  proto: arg.any("The same as protocol."),
  if: arg.any("Interface that packets arrive at."),
  of: arg.any("Interface that packets leave by."),
  source: arg.any("Source address or network."),
  destination: arg.any("Destination address or network."),
  sport: arg.any("Source port, or a range such as 1024:65535."),
  dport: arg.any("Destination port, or a range."),
  sports: arg.any("Several source ports, as a list or with commas."),
  dports: arg.any("Several destination ports."),
} as const satisfies Readonly<Record<string, ArgSpec>>;

export const save = arg.any(
  "Also writes all rules to the file that is loaded at boot, with true, or to this path; false by default.",
);

export const position = arg.integer("Where to add it; 1, the beginning, by default.", { min: 1 });

/** Where rules are kept for the next boot. */
export interface BootFile {
  /** The path that `save: true` means. */
  path: string;
  /** The program that prints all rules. */
  list: readonly string[];
  /** What stands before the rules. */
  head?: string;
}

/** A plan of steps that change rules, which are then written to the file of the boot. */
export function planRules(
  system: System,
  steps: readonly Step[],
  saved: { wanted: unknown; file: BootFile } | undefined,
  name: string,
  [fine, due, done]: readonly [fine: string, due: string, done: string],
): Plan {
  const path = steps.length === 0 || saved === undefined ? undefined : pathOf(saved.wanted, saved.file);
  const saving: Step[] =
    path === undefined || saved === undefined
      ? []
      : [{ changes: { [path]: "rules written" }, run: () => writeRules(system, path, saved.file) }];
  return planSteps([...steps, ...saving], {
    fine: `${name}: ${fine}`,
    due: `${name}: ${due}`,
    done: `${name}: ${done}`,
  });
}

function pathOf(wanted: unknown, file: BootFile): string | undefined {
  if (wanted === undefined || wanted === null || wanted === false || wanted === "") return undefined;
  return typeof wanted === "string" && wanted.startsWith("/") ? wanted : file.path;
}

async function writeRules(system: System, path: string, { list, head = "" }: BootFile): Promise<void> {
  const rules = await succeed(system, "list the rules", list, { outputLimit: 8 * 1024 * 1024 });
  system.makeDirectories(path.slice(0, path.lastIndexOf("/")));
  system.write(path, `${head}${rules}`);
}
