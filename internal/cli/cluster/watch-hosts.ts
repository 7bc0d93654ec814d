import { sleep } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { replicaProblem } from "../../bus/servers/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import type { OwnHost } from "../setup/mod.ts";
import type { RemoteHosts } from "./open-hosts.ts";

const checkMs = 1_000;

interface Watched {
  own: OwnHost;
  /** Every host that the cluster will have. */
  hosts: readonly string[];
}

/**
 * Waits until the new hosts run and have formed a group that can store things: a host that changes over before that
 * would have no bus.
 *
 * @throws SvcError `conflict` for servers that are too old
 */
export async function untilFormed(
  remote: RemoteHosts,
  { own, hosts, added, clustered }: Watched & { added: readonly string[]; clustered: boolean },
  cli: Cli,
): Promise<void> {
  const others = hosts.filter((host) => host !== own.own);
  // Of a fleet of one host, also those that were there before this command was run again.
  const needed = clustered ? added : others;
  await until(cli, async () => {
    const { membership, present } = await remote.inspect(clustered ? others : needed);
    const problem = replicaProblem(present);
    if (problem !== undefined) throw new SvcError("conflict", `${problem}: upgrade it, and run this again`);
    const { leader, followers, answered } = membership;
    const missing = needed.filter((host) => !answered.has(host));
    if (missing.length > 0) return `waiting for svc-master on ${missing.join(", ")}`;
    if (leader === "") return "waiting for a leader of the JetStream group";
    const group = new Set([leader, ...followers.map(({ server }) => server)]);
    const outside = needed.filter((host) => !group.has(host));
    if (outside.length > 0)
      return `the JetStream group does not have ${outside.join(", ")} yet: restart it if that lasts`;
    return undefined;
  });
}

/** Waits until every host is there, and each stream is stored completely on as many servers as it should be. */
export async function untilStored(
  remote: RemoteHosts,
  { own, hosts, clustered }: Watched & { clustered: boolean },
  cli: Cli,
): Promise<void> {
  const replicas = Math.min(3, hosts.length);
  // While this host is not restarted, its server knows of no other.
  const others = hosts.filter((host) => host !== own.own);
  await until(cli, async () => {
    const { membership } = await remote.inspect(others);
    const { answered, streams } = membership;
    const missing = hosts.filter((host) => !answered.has(host));
    if (missing.includes(own.own) && !clustered) return "waiting for the restart of svc-master on this host";
    if (missing.length > 0) return `waiting for svc-master on ${missing.join(", ")}`;
    if (streams.length === 0) return "waiting for the data of the fleet";
    const done = streams.filter(
      (one) =>
        one.leader !== "" &&
        one.replicas >= replicas &&
        one.followers.length === one.replicas - 1 &&
        one.followers.every(({ current, offline }) => current && !offline),
    );
    if (done.length === streams.length) return undefined;
    return `${done.length} of ${streams.length} streams are stored on ${replicas} servers`;
  });
}

/** Looks again and again, and says what it waits for when that changes. */
export async function until(cli: Cli, inspect: () => Promise<string | undefined>): Promise<void> {
  let said = "";
  for (;;) {
    let waits: string | undefined;
    try {
      waits = await inspect();
    } catch (thrown) {
      if (!(thrown instanceof SvcError) || thrown.kind === "conflict") throw thrown;
      waits = `no server answers yet: ${describeError(thrown)}`;
    }
    if (waits === undefined) return;
    if (waits !== said) cli.say(waits);
    said = waits;
    await sleep(cli.clock, checkMs);
  }
}
