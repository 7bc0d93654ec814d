import { displayPeelId } from "../../base/peel-id.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";
import { type Enrollment, loadEnrollment, toStored, trustOf } from "../../fleet/enrollment/mod.ts";
import { readMasters } from "../../fleet/masters/mod.ts";
import { keyFingerprint } from "../../identity/mod.ts";
import { command, formatFields } from "../../program/command-line/mod.ts";
import { fullId } from "../ids/full-id.ts";
import { withBus } from "../operator.ts";
import { directReadArg, idArg, openEnrollments } from "./ask.ts";

export const showCommand = command({
  name: "show",
  description: "Show the full record of an enrollment.",
  examples: ["svc enroll show enr-3MRx"],
  args: { id: idArg, "direct-kv": directReadArg },
  run: (args, cli) =>
    withBus(cli, async (bus) => {
      const id = await fullId("enr", args.id, bus, cli);
      const { record } = await loadEnrollment(await openEnrollments(bus), id);
      const fleet = record.trustedCaSpki === undefined ? [] : await fleetPins(bus);
      const shown = {
        peel: displayPeelId(record.peelId),
        ...toStored(record),
        ...(fleet.length === 0 ? {} : { fleet_ca_spki: fleet }),
      };
      await cli.print(shown, () => formatRecord(record, fleet));
    }),
});

/** SPKI pins of the CA roots of the live masters: one, unless the root is being replaced. */
async function fleetPins(bus: Bus): Promise<string[]> {
  const masters = await readMasters(await openBucket(bus, "master-heartbeat"));
  return [...new Set(masters.flatMap(({ ca_spki }) => ca_spki ?? []))];
}

/**
 * A record for people: the stored fields in their order, the peel id dotted.
 *
 * @param fleet pins to compare with the one that the peel trusted
 */
function formatRecord(record: Enrollment, fleet: readonly string[]): string {
  const fields = Object.entries(toStored(record)).flatMap(([name, value]) =>
    name === "evidence" && record.evidence !== undefined
      ? evidenceRows(record.evidence)
      : [[name, textOf(value)] as const],
  );
  return formatFields([
    ...fields.map(([name, value]) => [name, name === "peel_id" ? displayPeelId(value) : value] as const),
    ["trust", trustOf(record)],
    ...fleet.map((pin) => ["fleet_ca_spki", pin] as const),
    ["fingerprint", keyFingerprint(record.publicKey)],
  ]);
}

/** One line for each thing that the evidence names: there are too many for one. */
function evidenceRows({ type, fields }: NonNullable<Enrollment["evidence"]>) {
  const rows = Object.entries(fields).map(([name, value]) => [`evidence.${name}`, textOf(value)] as const);
  return [["evidence", type] as const, ...rows];
}

function textOf(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}
