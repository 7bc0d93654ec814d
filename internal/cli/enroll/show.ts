import { displayPeelId } from "../../base/names/peel-id.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { enrollmentOperations } from "../../fleet/enrollment/mod.ts";
import { type Cli, command, formatFields } from "../../program/command-line/mod.ts";
import { readDirectly } from "../direct-reads.ts";
import { enrollmentId } from "../ids/enrollment-id.ts";
import { type AnswerTo, request } from "../request.ts";
import { credsArg, directReadArg, idArg, withBusFor } from "./connect.ts";

type Shown = AnswerTo<typeof enrollmentOperations.showEnrollment>;

export const showCommand = command({
  name: "show",
  description: "Show the full record of an enrollment.",
  examples: ["svc enroll show enr-3MRx"],
  args: { id: idArg, "direct-kv": directReadArg, creds: credsArg },
  run: (args, cli) =>
    withBusFor(cli, args, async (bus) => {
      const found =
        args["direct-kv"] === true ? await readStored(bus, args.id, cli) : await read(bus, args.id, cli);
      const { enrollment, fleet_ca_spki } = found;
      const shown = {
        peel: displayPeelId(enrollment.peel_id),
        ...enrollment,
        ...(fleet_ca_spki === undefined ? {} : { fleet_ca_spki }),
      };
      await cli.print(shown, () => formatRecord(found));
    }),
});

async function read(bus: Bus, id: string, cli: Cli): Promise<Shown> {
  return request(bus, enrollmentOperations.showEnrollment, { id: await enrollmentId(id, bus, cli) });
}

async function readStored(bus: Bus, id: string, cli: Cli): Promise<Shown> {
  const whole = await enrollmentId(id, bus, cli, { isDirect: true });
  return readDirectly(bus, cli).enrollment({ id: whole });
}

/** A record for people: the stored fields in their order, the peel id dotted. */
function formatRecord({ enrollment, trust, fingerprint, fleet_ca_spki = [] }: Shown): string {
  const { evidence } = enrollment;
  const { peel: _, ...stored } = { peel: "", ...enrollment };
  const fields = Object.entries(stored).flatMap(([name, value]) =>
    name === "evidence" && evidence !== undefined ? evidenceRows(evidence) : [[name, textOf(value)] as const],
  );
  return formatFields([
    ...fields.map(([name, value]) =>
      name === "peel_id" ? (["peel", displayPeelId(value)] as const) : ([name, value] as const),
    ),
    ["trust", trust],
    ...fleet_ca_spki.map((pin) => ["fleet_ca_spki", pin] as const),
    ["fingerprint", fingerprint],
  ]);
}

/** One line for each thing that the evidence names: there are too many for one. */
function evidenceRows({ type, fields }: NonNullable<Shown["enrollment"]["evidence"]>) {
  const rows = Object.entries(fields).map(([name, value]) => [`evidence.${name}`, textOf(value)] as const);
  return [["evidence", type] as const, ...rows];
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
