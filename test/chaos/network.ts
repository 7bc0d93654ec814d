import { command } from "./command.ts";

// A network for one run: a bridge, and behind it a namespace for each server, master and peel. It is made
// inside the enclosure (enclosure.ts), so that the kernel removes all of it with the last process.

/** A host of the run. */
export interface Host {
  readonly name: string;
  readonly address: string;
}

export interface Network {
  /** Adds a host of its own namespace. */
  add(name: string, number: number): Host;
  /** The words before a program that make it run on a host. */
  on(host: Host): string[];
  /** Plugs a host in, or out. */
  plug(host: Host, up: boolean): void;
  /** Lets a host reach another one, or not: what it sends there is dropped. */
  route(from: Host, to: Host, open: boolean): void;
  /** An address of the operator, which no request limit applies to yet. */
  operatorAddress(): string;
}

const bridge = "bridge";

export function createNetwork(): Network {
  // Named namespaces are files; this directory is private to the enclosure.
  command("mount", "-t", "tmpfs", "none", "/run");
  command("ip", "link", "set", "lo", "up");
  command("ip", "link", "add", bridge, "type", "bridge");
  command("ip", "addr", "add", "10.77.0.1/16", "dev", bridge);
  command("ip", "link", "set", bridge, "up");
  // Masters limit requests by address: the operator has a range of them.
  command("ip", "route", "add", "local", "10.77.200.0/24", "dev", "lo");
  let requested = 0;
  return {
    add(name, number) {
      const address = `10.77.0.${number}`;
      command("ip", "netns", "add", name);
      command("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name);
      command("ip", "link", "set", name, "master", bridge, "up");
      command("ip", "-n", name, "addr", "add", `${address}/16`, "dev", "eth0");
      for (const each of ["eth0", "lo"]) command("ip", "-n", name, "link", "set", each, "up");
      return { name, address };
    },
    on: ({ name }) => ["nsenter", `--net=/run/netns/${name}`],
    plug: ({ name }, up) => command("ip", "link", "set", name, up ? "up" : "down"),
    route: (from, to, open) =>
      command("ip", "-n", from.name, "route", open ? "del" : "add", "blackhole", `${to.address}/32`),
    operatorAddress: () => `10.77.200.${1 + (requested++ % 250)}`,
  };
}
