import { createHash, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { openPage, type Page } from "./browser-page.ts";
import { connectTo } from "./browser-protocol.ts";
import { startProgram } from "./process.ts";
import { temporaryDirectory } from "./temporary.ts";

export type { Page } from "./browser-page.ts";

// A headless Chromium, controlled over the Chrome DevTools Protocol, without a library.

/** The Chromium of the tests; a missing one fails them. */
function chromiumPath(): string {
  const path = join(import.meta.dir, "../../.tools/bin/chromium");
  if (!existsSync(path)) throw new Error("no chromium: run the tests with make test, which installs one");
  return path;
}

/**
 * Starts a browser that trusts, of all certificates, those of a CA's host only as this server shows it.
 *
 * @param server.as a name by which the browser reaches the server too, at the usual port
 */
export async function openBrowser(server: { url: string; ca: string; as?: string }): Promise<Page> {
  const files = temporaryDirectory("browser");
  const program = startProgram(
    [
      chromiumPath(),
      // The tests may run as root, where Chromium's own sandbox does not start; the page is ours.
      ...["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
      ...["--no-first-run", "--disable-background-networking", "--disable-component-update"],
      ...["--remote-debugging-port=0", `--user-data-dir=${files.path}`],
      ...(server.url.startsWith("http:")
        ? []
        : [`--ignore-certificate-errors-spki-list=${await pinsOf(server)}`]),
      ...(server.as === undefined
        ? []
        : [`--host-resolver-rules=MAP ${server.as}:443 127.0.0.1:${new URL(server.url).port}`]),
      "about:blank",
    ],
    { env: { HOME: files.path } },
  );
  try {
    const listening = /DevTools listening on (ws:\S+)/;
    await program.waitFor(listening);
    const [, address = ""] = listening.exec(program.output()) ?? [];
    const protocol = await connectTo(address);
    const page = await openPage(protocol);
    return Object.assign(page, {
      async [Symbol.asyncDispose]() {
        protocol.close();
        await program[Symbol.asyncDispose]();
        files[Symbol.dispose]();
      },
    });
  } catch (thrown) {
    await program[Symbol.asyncDispose]();
    files[Symbol.dispose]();
    throw thrown;
  }
}

/**
 * SHA-256 of each key that the server shows in a handshake that its CA verifies, in base64. A server that starts again
 * has a new key of its own, and the same authority above it.
 */
function pinsOf({ url, ca }: { url: string; ca: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: "127.0.0.1",
      port: Number(new URL(url).port),
      servername: "localhost",
      ca,
    });
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      const pins = new Set<string>();
      let shown = socket.getPeerCertificate(true);
      for (let before: unknown; shown !== before && shown?.raw !== undefined; ) {
        const { publicKey } = new X509Certificate(shown.raw);
        const key = publicKey.export({ type: "spki", format: "der" });
        pins.add(createHash("sha256").update(key).digest("base64"));
        before = shown;
        shown = shown.issuerCertificate;
      }
      socket.destroy();
      resolve([...pins].join());
    });
  });
}
