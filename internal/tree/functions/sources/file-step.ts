import { keepLineEnds } from "../../../base/files/line-ends.ts";
import type { System } from "../../../host/system/system.ts";
import { describeChange } from "../../function/mod.ts";
import type { Step } from "../steps.ts";

/**
 * A step that edits a text file of the system. It edits what is in the file when it runs.
 *
 * @returns nothing when the edit changes nothing
 */
export async function editFile(
  system: System,
  path: string,
  edit: (text: string) => string,
): Promise<Step[]> {
  const before = system.read(path);
  const after = keepLineEnds(before ?? "", edit);
  if (after === before) return [];
  const old = before === undefined ? undefined : Buffer.from(before);
  const diff = await describeChange(path, old, Buffer.from(after));
  return [
    { changes: { [path]: diff }, run: () => system.write(path, keepLineEnds(system.read(path) ?? "", edit)) },
  ];
}
