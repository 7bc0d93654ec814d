import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { carriedServer, findServer, systemPath } from "../../bus/server/mod.ts";
import { command, formatFields, value } from "../../program/command-line/mod.ts";

/** Shows the nats-server of `embedded_bus`; `svc init` asks for it, to write what that version knows. */
export const busServerCommand = command({
  name: "bus-server",
  description: "Show which nats-server this master would run as its embedded bus.",
  examples: ["svc-master bus-server", "svc-master bus-server --unpack /usr/local/bin"],
  args: {
    unpack: value(
      "directory",
      "Leave a server from inside this program in this directory, and show its path",
    ),
  },
  async run({ unpack }, cli) {
    // A server inside this executable is unpacked to ask for its version.
    const directory = mkdtempSync(join(tmpdir(), "svc-bus-server-"));
    try {
      const { path, version, origin } = await findServer({
        explicit: "",
        carried: carriedServer(),
        directory: unpack === undefined ? join(directory, "bin") : resolve(unpack),
        searchPath: `${cli.env.PATH ?? ""}:${systemPath}`,
        clock: cli.clock,
      });
      const stays = unpack !== undefined || origin !== "this executable";
      const found = { version, origin, ...(stays ? { path } : {}) };
      await cli.print(found, () =>
        formatFields([
          ["Version", version],
          ["From", stays ? path : origin],
        ]),
      );
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});
