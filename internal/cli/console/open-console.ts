import { SvcError } from "../../base/errors.ts";
import { digestOfSecret, newSecret, sessionOperations } from "../../fleet/sessions/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { operatorBus, withBus } from "../operator.ts";
import { request } from "../request.ts";
import { caAdvice, writeCaFile } from "./ca-file.ts";
import { openPage } from "./open-page.ts";

/**
 * Asks the masters for a link to the console.
 *
 * @param options.url of a master; absent means the first that the masters name
 * @throws SvcError `usage` for a malformed URL, or as `request`
 */
export function openConsole(
  { url, opens }: { url: string | undefined; opens: boolean },
  cli: Cli,
): Promise<void> {
  const chosen = url === undefined ? undefined : consoleAt(url);
  return withBus(cli, async (bus) => {
    // Made here: it does not cross the bus, only its SHA-256 does.
    const code = newSecret(cli.random);
    const digest = Buffer.from(digestOfSecret(code) ?? []).toString("hex");
    const { urls, expires_at } = await request(bus, sessionOperations.createSessionLink, { digest });
    const at = chosen ?? urls[0];
    if (at === undefined)
      throw new SvcError("unavailable", "the masters name no address: give one with --url");
    const link = `${at}#link=${code}`;
    await cli.print({ link, urls, expires_at }, () => link);
    const isOpening = opens && cli.output === "table" && openPage(link, cli.env);
    cli.say(
      isOpening
        ? "The link opens in your browser. It is good once, until a minute from now."
        : "Open the link in a browser. It is good once, until a minute from now.",
    );
    const { ca } = operatorBus(cli);
    const path = ca === undefined ? undefined : writeCaFile(ca, cli.env);
    if (path !== undefined) cli.say(caAdvice(path));
  });
}

/** The console of a master. @throws SvcError `usage` */
function consoleAt(url: string): string {
  const found = URL.parse(url);
  if (found?.protocol !== "https:" || found.username !== "" || found.hash !== "" || found.search !== "") {
    throw new SvcError(
      "usage",
      "--url: expected the address of a master, such as https://master.example.com:8443",
    );
  }
  return `${found.origin}/console/`;
}
