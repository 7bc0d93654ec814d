import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../../harness/fleet.ts";
import { runProgram } from "../../harness/process.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { type Run, tableOfRuns } from "./cost.ts";
import type { Peers } from "./programs.ts";

const name = "peer.example.com";
const address = "10.0.0.5";

/**
 * One certificate of a P-256 key that is new as well, for a name and an address, valid for a day, signed with the
 * P-256 key of the same intermediate in a file.
 */
export async function certificateRows(peers: Peers, rounds: number): Promise<string> {
  using scratch = temporaryDirectory("bench-peers-certificate");
  const ca = join(scratch.path, "ca");
  const { code, stderr } = await runProgram([binaries.cli, "ca", "init", "--dir", ca]);
  if (code !== 0) throw new Error(stderr);
  const fresh = () => mkdtempSync(join(scratch.path, "out-"));
  const signer = ["intermediate.crt", "intermediate.key"].map((file) => join(ca, file));
  const own: Run = {
    name: "svc ca issue",
    argv: () => [
      ...[binaries.cli, "ca", "issue", "nats-server", "--dir", ca, "--dns", name, "--ip", address],
      ...["--validity", "24h", "--out", fresh()],
    ],
  };
  return `One certificate\n\n${await tableOfRuns([own, ...step(peers, signer, fresh), ...openssl(signer, fresh)], rounds)}`;
}

function step(peers: Peers, [certificate = "", key = ""]: readonly string[], fresh: () => string): Run[] {
  const program = peers.program("step");
  if (program === undefined) return [];
  const argv = () => {
    const out = fresh();
    return [
      ...[program, "certificate", "create", name, join(out, "peer.crt"), join(out, "peer.key")],
      ...["--ca", certificate, "--ca-key", key, "--kty", "EC", "--curve", "P-256", "--not-after", "24h"],
      ...["--san", name, "--san", address, "--no-password", "--insecure"],
    ];
  };
  return [{ name: "step certificate create", argv }];
}

/** It comes with the machine. */
function openssl([certificate = "", key = ""]: readonly string[], fresh: () => string): Run[] {
  const program = Bun.which("openssl");
  if (program === null) return [];
  const argv = () => {
    const out = fresh();
    return [
      ...[program, "req", "-x509", "-CA", certificate, "-CAkey", key, "-days", "1", "-subj", `/CN=${name}`],
      ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
      ...["-addext", `subjectAltName=DNS:${name},IP:${address}`],
      ...["-keyout", join(out, "peer.key"), "-out", join(out, "peer.crt")],
    ];
  };
  return [{ name: "openssl req -x509 -CA", argv }];
}
