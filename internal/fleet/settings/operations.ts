import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { displayPeelId, encodePeelId } from "../../base/names/peel-id.ts";
import { described, integer, plain, titled } from "../../base/schema.ts";
import { type Directory, memberNamed } from "../enrollment/store/mod.ts";
import { type Call, operation } from "../operation/mod.ts";
import { type Explained, explainSetting } from "./explain.ts";
import { type Found, findSetting } from "./find-setting.ts";
import type { Showing } from "./mask.ts";
import type { SettingsReader } from "./read-settings.ts";

export { listKinds } from "./kinds-operation.ts";

/** Where a master looks at the settings of a peel. */
export interface SettingsDeps {
  directory: Pick<Directory, "caughtUp" | "members" | "memberOf" | "stateOf">;
  settings: SettingsReader;
}

const maxName = 512;
const id = described(v.string(), "Peel id, with dots or encoded");
const name = v.pipe(
  v.string(),
  v.minLength(1, "must not be empty"),
  v.maxLength(maxName, `must be at most ${maxName} characters`),
  v.description("One setting; colons lead into maps and lists: `users:0:name`"),
);
const line = described(integer, "Counted from 1");
const because = described(v.string(), "The line that asked for the file: `top.sls:4`");

const setter = titled(
  "SettingSetter",
  v.object({
    ...{ file: v.string(), line, because, value: plain },
    name: v.exactOptional(described(v.string(), "What it set, where that is a setting around this one")),
  }),
);
const explained: v.GenericSchema<Explained> = titled(
  "ExplainedSetting",
  v.object({
    name: described(v.string(), "The setting, with colons between the names"),
    ...{ value: plain, file: described(v.string(), "Below `settings_dir`"), line, because },
    covered: described(v.array(setter), "The files that set it before, in the order of merging"),
  }),
);

const shown = v.object({ value: plain });
const explanation = v.object({
  settings: v.array(explained),
  more: v.exactOptional(
    v.pipe(v.literal(true), v.metadata({ type: "boolean", description: "There are more than fit" })),
  ),
});

const whole = v.strictObject({ id, name: v.optional(name) });
const one = v.strictObject({ id, name });
const touches = (input: { id: string }) => ({ peel: encodePeelId(input.id) });
const secrets =
  "A value that is secret by its name or its form, or that comes from a file below a directory `secret`, is shown as `********`.";

const read = { kind: "settings", action: "render" } as const;
const reveal = { kind: "settings", action: "reveal" } as const;
const common = { kind: "read", admits: ["operator"], touches } as const;

export const showSettings = operation({
  ...common,
  name: "settings.show",
  summary: "Show the settings that this master compiles for a peel now",
  description: secrets,
  scope: read,
  input: whole,
  output: shown,
  run: (deps: SettingsDeps, input) => show(deps, input, "mask"),
});

export const revealSettings = operation({
  ...common,
  name: "settings.reveal",
  summary: "Show the settings of a peel with their secrets",
  description: "The audit records the caller, the peel and the setting before anything is shown.",
  scope: reveal,
  input: whole,
  output: shown,
  run: (deps: SettingsDeps, input) => show(deps, input, "reveal"),
});

export const explainSettings = operation({
  ...common,
  name: "settings.explain",
  summary: "Show where a setting of a peel comes from, and which values it overrides",
  description: secrets,
  scope: read,
  input: one,
  output: explanation,
  run: (deps: SettingsDeps, input, call) => explain(deps, input, call, "mask"),
});

export const revealExplained = operation({
  ...common,
  name: "settings.reveal-explained",
  summary: "The same, with the secrets",
  description: "The audit records the caller, the peel and the setting before anything is shown.",
  scope: reveal,
  input: one,
  output: explanation,
  run: (deps: SettingsDeps, input, call) => explain(deps, input, call, "reveal"),
});

async function show(
  deps: SettingsDeps,
  { id, name }: v.InferOutput<typeof whole>,
  showing: Showing,
): Promise<{ value: Plain }> {
  const { value } = await find(deps, id, name, showing);
  return { value };
}

async function explain(
  deps: SettingsDeps,
  { id, name }: v.InferOutput<typeof one>,
  { answerBytes = Number.POSITIVE_INFINITY }: Pick<Call, "answerBytes">,
  showing: Showing,
): Promise<v.InferOutput<typeof explanation>> {
  const { settings, more } = explainSetting(await find(deps, id, name, showing), showing);
  const fitting: Explained[] = [];
  let bytes = 0;
  for (const setting of settings) {
    bytes += Buffer.byteLength(JSON.stringify(setting));
    if (bytes > answerBytes) return { settings: fitting, more: true };
    fitting.push(setting);
  }
  return more ? { settings, more: true } : { settings };
}

/** @throws SvcError `not_found` for the peel and for the setting, with the nearest one */
async function find(
  { directory, settings }: SettingsDeps,
  id: string,
  name: string | undefined,
  showing: Showing,
): Promise<Exclude<Found, { near: string }>> {
  await directory.caughtUp();
  const { peelId } = memberNamed(directory, id);
  const found = findSetting(await settings.read(peelId), name, showing);
  if (!("near" in found)) return found;
  const requested = JSON.stringify(name?.slice(0, 100));
  throw new SvcError("not_found", `${displayPeelId(peelId)} has no setting ${requested}${found.near}`);
}
